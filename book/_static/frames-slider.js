// A slider over frames (icrlib.widgets.frames_slider). Works on its own element only, no ids are looked up: a page may hold
// many, and Jupyter may show one twice. All frames are decoded before the first move, so that dragging does not flicker.
(function(script){var box=script.parentNode;
if(!box.classList.contains('frames-slider'))return;  // a page loads all scripts of this folder, also without a slider
var range=box.querySelector('input'),
image=box.querySelector('img'),output=box.querySelector('output'),
data=JSON.parse(box.querySelector('script[type="application/json"]').textContent),
frames=data.png.map(function(png){var i=new Image();i.src=png;
if(i.decode)i.decode().catch(function(){});return i;});
function show(){var i=+range.value;image.src=frames[i].src;image.alt=data.alt[i];
output.textContent=data.value[i];
range.setAttribute('aria-valuetext',data.value[i]);}
range.addEventListener('input',show);range.addEventListener('change',show);show();})(document.currentScript);
