"""What captions and pictures state, against their forms and scenes, case by case."""

from icrlib.data.scenes.facts import facts
from icrlib.data.scenes.graph import BACKGROUNDS, COLOURS, SHAPES, SIZES


def by_name(split, of):
    return {fact.name: fact for fact in facts(split, of)}


def test_captions_state_what_their_forms_say(drawn):
    by_fact, named = by_name(drawn, "caption"), [form["things"] for form in drawn.forms]
    values = {"shape": SHAPES, "colour": COLOURS, "size": SIZES}
    for place, which in enumerate(("first", "second")):
        there = [(row, things[place]) for row, things in enumerate(named) if len(things) > place]
        for attribute, names in values.items():
            expected = [[row, 0, names.index(thing[attribute])] for row, thing in there if attribute in thing]
            assert by_fact[f"{attribute} of the {which}"].known.tolist() == expected and len(expected) > 100
        striped = [[row, 0, int("fill" in thing)] for row, thing in there]
        assert by_fact[f"is the {which} striped?"].known.tolist() == striped
    relations = ("left of", "right of", "above", "below")
    for name, told in (("relation", relations), ("count", (2, 3, 4, 5)), ("background", BACKGROUNDS)):
        expected = [[row, 0, told.index(form[name])] for row, form in enumerate(drawn.forms) if form[name]]
        assert by_fact[name].known.tolist() == expected
    for attribute in ("shape", "colour"):
        assert by_fact[f"{attribute}s named"].known.tolist() == [
            [row, k, int(any(thing.get(attribute) == value for thing in things))]
            for row, things in enumerate(named)
            for k, value in enumerate(values[attribute])
        ]


def test_whose_colour_and_who_is_left_of_captions(drawn):
    by_fact, questions = by_name(drawn, "caption"), set()
    for row, form in enumerate(drawn.forms):
        for one in form["things"]:
            alone = sum(thing["shape"] == one["shape"] for thing in form["things"]) == 1
            for other in form["things"]:
                if alone and one.get("colour") and other.get("colour") and one["colour"] != other["colour"]:
                    questions.add(
                        (row, SHAPES.index(one["shape"]), COLOURS.index(one["colour"]), COLOURS.index(other["colour"]))
                    )
    assert set(map(tuple, by_fact["whose colour"].asked.tolist())) == questions and len(questions) > 300
    for name, straight, turned in (("who is left", "left of", "right of"), ("who is above", "above", "below")):
        expected = []
        for row, form in enumerate(drawn.forms):
            if form["relation"] in (straight, turned):
                a, b = (SHAPES.index(thing["shape"]) for thing in form["things"])
                one, other = (a, b) if form["relation"] == straight else (b, a)
                expected += [[row, 0, one, other]] if one != other else []
        assert by_fact[name].asked.tolist() == expected and len(expected) > 50
        assert by_fact[name].choice and not by_fact["relation"].choice


def test_pictures_state_what_is_in_them(drawn):
    by_fact = by_name(drawn, "picture")
    assert by_fact["count"].known.tolist() == [[row, 0, len(s.things) - 2] for row, s in enumerate(drawn.graphs)]
    assert by_fact["background"].known[:, 2].tolist() == [BACKGROUNDS.index(s.background) for s in drawn.graphs]
    assert by_fact["colours there"].known.tolist() == [
        [row, k, int(any(thing.colour == name for thing in scene.things))]
        for row, scene in enumerate(drawn.graphs)
        for k, name in enumerate(COLOURS)
    ]
    alone = [
        (row, scene, a)
        for row, scene in enumerate(drawn.graphs)
        for a in scene.things
        if sum(thing.shape == a.shape for thing in scene.things) == 1
    ]
    for name, value in (
        ("whose colour", lambda t: COLOURS.index(t.colour)),
        ("whose column", lambda t: t.cell % 3),
        ("whose row", lambda t: t.cell // 3),
    ):
        expected = [
            [row, SHAPES.index(a.shape), value(a), value(b)]
            for row, scene, a in alone
            for b in scene.things
            if value(a) != value(b)
        ]
        assert by_fact[name].asked.tolist() == expected and len(expected) > 200
    sizes = [[row, SHAPES.index(a.shape), SIZES.index(a.size)] for row, _, a in alone]
    assert by_fact["size of a shape"].known.tolist() == sizes
