"""What captions and pictures state, against a reading of the captions' words and of the scenes, case by case."""

from icrlib.data.scenes.facts import facts
from icrlib.data.scenes.graph import BACKGROUNDS, COLOURS, SHAPES, SIZES

from .test_scenes_grammar import read


def by_name(split, of):
    return {fact.name: fact for fact in facts(split, of)}


def test_captions_state_what_their_words_say(split):
    forms, by_fact = [read(text) for text in split.captions], by_name(split, "caption")
    values = {"shape": SHAPES, "colour": COLOURS, "size": SIZES}
    for place, which in enumerate(("first", "second")):
        for attribute, names in values.items():
            expected = [
                [row, 0, names.index(t["things"][place][attribute])]
                for row, t in enumerate(forms)
                if len(t["things"]) > place and attribute in t["things"][place]
            ]
            assert by_fact[f"{attribute} of the {which}"].known.tolist() == expected and len(expected) > 100
        striped = [
            [row, 0, int("fill" in t["things"][place])] for row, t in enumerate(forms) if len(t["things"]) > place
        ]
        assert by_fact[f"is the {which} striped?"].known.tolist() == striped
    relations = ("left of", "right of", "above", "below")
    for name, values_of in (("relation", relations), ("count", (2, 3, 4, 5)), ("background", BACKGROUNDS)):
        index = values_of.index
        assert by_fact[name].known.tolist() == [[row, 0, index(t[name])] for row, t in enumerate(forms) if t[name]]
    for attribute in ("shape", "colour"):
        cases = by_fact[f"{attribute}s named"].known.tolist()
        assert cases == [
            [row, k, int(any(thing.get(attribute) == value for thing in t["things"]))]
            for row, t in enumerate(forms)
            for k, value in enumerate(values[attribute])
        ]


def test_whose_colour_and_who_is_left_of_captions(split):
    forms, by_fact = [read(text) for text in split.captions], by_name(split, "caption")
    questions = set()
    for row, t in enumerate(forms):
        for one in t["things"]:
            alone = sum(thing["shape"] == one["shape"] for thing in t["things"]) == 1
            for other in t["things"]:
                if alone and one.get("colour") and other.get("colour") and one["colour"] != other["colour"]:
                    questions.add(
                        (row, SHAPES.index(one["shape"]), COLOURS.index(one["colour"]), COLOURS.index(other["colour"]))
                    )
    assert set(map(tuple, by_fact["whose colour"].asked.tolist())) == questions and len(questions) > 300
    for name, straight, turned in (("who is left", "left of", "right of"), ("who is above", "above", "below")):
        expected = []
        for row, t in enumerate(forms):
            if t["relation"] in (straight, turned):
                a, b = (SHAPES.index(thing["shape"]) for thing in t["things"])
                one, other = (a, b) if t["relation"] == straight else (b, a)
                expected += [[row, 0, one, other]] if one != other else []
        assert by_fact[name].asked.tolist() == expected and len(expected) > 50
        assert by_fact[name].choice and not by_fact["relation"].choice


def test_pictures_state_what_is_in_them(split):
    by_fact = by_name(split, "picture")
    assert by_fact["count"].known.tolist() == [[row, 0, len(s.things) - 2] for row, s in enumerate(split.graphs)]
    assert by_fact["background"].known[:, 2].tolist() == [BACKGROUNDS.index(s.background) for s in split.graphs]
    labels = {
        (row, k): int(any(t.colour == name for t in s.things))
        for row, s in enumerate(split.graphs)
        for k, name in enumerate(COLOURS)
    }
    assert {(row, k): label for row, k, label in by_fact["colours there"].known.tolist()} == labels
    for name, value in (
        ("whose colour", lambda t: COLOURS.index(t.colour)),
        ("whose column", lambda t: t.cell % 3),
        ("whose row", lambda t: t.cell // 3),
    ):
        expected = [
            [row, SHAPES.index(a.shape), value(a), value(b)]
            for row, s in enumerate(split.graphs)
            for a in s.things
            for b in s.things
            if sum(t.shape == a.shape for t in s.things) == 1 and value(a) != value(b)
        ]
        assert sorted(by_fact[name].asked.tolist()) == sorted(expected) and len(expected) > 200
    sizes = sorted(
        [row, SHAPES.index(a.shape), SIZES.index(a.size)]
        for row, s in enumerate(split.graphs)
        for a in s.things
        if sum(t.shape == a.shape for t in s.things) == 1
    )
    assert sorted(by_fact["size of a shape"].known.tolist()) == sizes
