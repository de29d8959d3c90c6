"""The second half of the demo's session: after a long lunch, new features, data, and hard questions."""

from __future__ import annotations

from reverie.cli.demo import papers
from reverie.cli.demo.script import HOUR, Fact, Lesson, Scene, edit, read, run, says, write

ROUNDING = Fact(
    "how money is rounded",
    ("half up",),
    "Half up, in whole cents; Kaja in the harbour office confirmed it on the phone, because their "
    "invoices do it like that.",
)
STORHOLM = Fact(
    "the change in Storholm",
    ("2027-04-15",),
    "Twelve minutes, because the piers are far apart (Henrik measured it), until 2027-04-15; then the "
    "shuttle starts and it is seven as everywhere.",
)
RULES = Fact(
    "the ground rules",
    ("tandard library only",),
    "Standard library only; whole minutes, never datetimes or floats; nothing is done before ./check "
    "has passed.",
)

AFTERNOON = (
    Scene(
        "Back, sorry, that took longer. Where were we, and what is left from your side?",
        (
            says(
                "All tests pass. Times after midnight, ranges of days, money, rounding and changes are "
                "mended, the search stops early, and the plan says when to ring the office. Two things "
                "are open from this morning: how a traveller should see a time after midnight, and that "
                "`on_day` sorts the day for every search."
            ),
        ),
        "resumed after lunch; open: display of times after midnight, sorting in on_day",
        pause=1.25 * HOUR,
        leaves=True,
    ),
    Scene(
        "First something new: I want an overview of the week for a harbour, everything that leaves "
        "from it, day by day. In a module of its own, ferry/week.py, with tests.",
        (
            says("I look at what there is to build on.", read("ferry/timetable.py")),
            says(
                "The module and its tests.",
                write("ferry/week.py", papers.WEEK),
                write("tests/test_week.py", papers.TEST_WEEK),
                run("./check week"),
            ),
            says(
                "My mistake: I filtered by where the ships go, not by where they leave.",
                edit("ferry/week.py", "if one.target == harbour]", "if one.origin == harbour]"),
                run("./check week"),
            ),
            says("`week(sailings, harbour)` works, and its three tests pass."),
        ),
        "ferry/week.py: the week at a harbour, with three tests",
    ),
    Scene(
        "Make it ./plan --week HARBOUR and show me Storholm and Vestvik.",
        (
            says("The command line again.", read("ferry/__main__.py")),
            says(
                "One branch before the usual one.",
                edit(
                    "ferry/__main__.py",
                    '"""./plan FROM TO TIME DAY"""',
                    '"""./plan FROM TO TIME DAY\n   ./plan --week HARBOUR"""',
                ),
                edit("ferry/__main__.py", "from ferry import fares, routes, timetable", "from ferry import fares, routes, timetable\nfrom ferry.week import week"),
                edit(
                    "ferry/__main__.py",
                    "def main(arguments):\n",
                    "def main(arguments):\n"
                    '    if len(arguments) == 2 and arguments[0] == "--week":\n'
                    "        print(week(timetable.load(DATA), arguments[1]))\n"
                    "        return 0\n",
                ),
                run("./plan --week Storholm && ./plan --week Vestvik"),
            ),
            says(
                "Both weeks are complete. On Fridays to Mondays there are more ships than from Tuesday "
                "to Thursday; the last one from Vestvik to Storholm leaves at 23:30 and is there at 24:05."
            ),
        ),
        "./plan --week HARBOUR prints the week",
    ),
    Scene(
        "24:05 is exactly what travellers do not understand. Decision: they see 00:05 (+1), with the "
        "day in brackets. Inside it stays minutes as agreed. You may add that to the test of the clock.",
        (
            says("The test is new to me after the break.", read("tests/test_timetable.py")),
            says(
                "Only `clock` changes, and its test.",
                edit(
                    "ferry/timetable.py",
                    '    return f"{moment // 60:02}:{moment % 60:02}"',
                    "    day, rest = divmod(moment, DAY)\n"
                    '    text = f"{rest // 60:02}:{rest % 60:02}"\n'
                    '    return f"{text} (+{day})" if day else text',
                ),
                edit(
                    "tests/test_timetable.py",
                    '    equal(clock(495), "08:15")\n',
                    '    equal(clock(495), "08:15")\n    equal(clock(1480), "00:40 (+1)")\n',
                ),
                run("./check"),
            ),
            says("Travellers see 00:05 (+1) now. 25 of 25 pass."),
        ),
        "times after midnight are shown as 00:05 (+1); inside they stay minutes",
        lessons=(
            Lesson(
                "project_times_shown.md",
                "Travellers see 00:05 (+1), with the day in brackets",
                "project",
                "Decision: travellers see 00:05 (+1), with the day in brackets. Inside it stays minutes.",
            ),
        ),
    ),
    Scene(
        "Now the data. I suspect the office has entered some sailings twice. Same harbours, same "
        "times: list them, most frequent first.",
        (
            says(
                "Counting what is the same.",
                run("cut -d';' -f3-6 data/sailings.csv | sort | uniq -c | sort -k1,1nr -k2"),
            ),
            says(
                "No sailing is there twice: every combination of harbours and times occurs once. What "
                "looks like a duplicate is the way back, which leaves the other harbour at a similar "
                "time."
            ),
        ),
        "the table has no duplicates",
        recalls=("reference_harbour_office.md",),
    ),
    Scene(
        "And two ships that leave one harbour in the same minute? In Storholm that would be a problem, "
        "there is one ramp a pier.",
        (
            says(
                "By harbour and minute.",
                run("tail -n +2 data/sailings.csv | cut -d';' -f3,4 | sort | uniq -c | sort -k1,1nr -k2"),
            ),
            says(
                "There is none: no two ships leave one harbour in the same minute. The closest are two "
                "minutes apart in Storholm, and those are on different piers by their numbers (2xx and "
                "4xx)."
            ),
        ),
        "no two ships leave a harbour in the same minute; the closest are two minutes apart",
    ),
    Scene(
        "What happens when I misspell a harbour?",
        (
            says("Trying it.", run("./plan Vestvik Yttre 08:00 Mo")),
            says(
                "It says there is no way, which is not what is wrong. I would rather say that there is no "
                "such harbour and name the closest; `difflib` is in the standard library."
            ),
        ),
        "a misspelt harbour is told as “no way”",
    ),
    Scene(
        "Yes please.",
        (
            says("Reading the file once more, it changed.", read("ferry/__main__.py")),
            says(
                "Before the search.",
                edit("ferry/__main__.py", "import sys\n", "import sys\nfrom difflib import get_close_matches\n"),
                edit(
                    "ferry/__main__.py",
                    "    journey = routes.search(",
                    "    known = timetable.harbours(sailings)\n"
                    "    for name in (origin, target):\n"
                    "        if name not in known:\n"
                    "            close = get_close_matches(name, known, n=1)\n"
                    '            hint = f" Did you mean {close[0]}?" if close else ""\n'
                    '            print(f"There is no harbour {name}.{hint}")\n'
                    "            return 1\n"
                    "    journey = routes.search(",
                ),
                run("./plan Vestvik Yttre 08:00 Mo; ./plan Vestvik Ytre 08:00 Mo"),
            ),
            says("“There is no harbour Yttre. Did you mean Ytre?”, and the journey is as before."),
        ),
        "a misspelt harbour is named, with the closest one",
    ),
    Scene(
        "Collect the questions we have for Kaja in docs/kaja.md: how one asks a ship to call, whether "
        "2xx and 4xx really use different piers in Storholm, and when the summer prices start.",
        (
            says(
                "Three questions, politely.",
                write(
                    "docs/kaja.md",
                    "# Questions for the harbour office\n\n"
                    "1. 49 sailings “call only when asked to”. Is ringing the day before enough, also on Sundays?\n"
                    "2. In Storholm, sailings 2xx and 4xx leave two minutes apart. Do they use different piers?\n"
                    "3. Do the summer prices hold from 1 June to 31 August, both included?\n",
                ),
            ),
            says("They are in `docs/kaja.md`."),
        ),
        "three questions for Kaja are in docs/kaja.md",
    ),
    Scene(
        "Our travellers never saw a manual. Write docs/guide.md for them: how to find a journey, what the "
        "times mean, ships that must be asked, changing, prices. A page, friendly, no jargon. "
        "I prefer British spelling in everything that travellers read.",
        (
            says("One page.", write("docs/guide.md", papers.GUIDE)),
            says("It is in `docs/guide.md`: six short parts, with the journey to Ytre as its example."),
        ),
        "docs/guide.md explains ferry to travellers",
    ),
    Scene(
        papers.LETTER,
        (
            says(
                "Nothing has to change. Ringing the day before is what we print; the season is June to "
                "August as it stands; 25:10 is a time we read since this morning; and the ship of 415 she "
                "corrects herself. One thing to watch: a sailing at 25:10 leaves after midnight, and a search "
                "that starts on Saturday at 00:30 does not see it, because it belongs to Friday. That is the "
                "limit noted in docs/design.md."
            ),
        ),
        "Kaja answered: nothing to change; a Friday sailing at 25:10 comes in September",
        recalls=("reference_harbour_office.md",),
    ),
    Scene(
        "The command line has no tests at all. Write some: a journey, no way, a ship that must be asked, "
        "a week, wrong words.",
        (
            says("Five tests that call `main`.", write("tests/test_main.py", papers.TEST_MAIN), run("./check main")),
            says("Five tests, all pass: 30 of 30 in all."),
        ),
        "tests/test_main.py: five tests of the command line; 30 in all",
    ),
    Scene(
        papers.HOLIDAY_WISH,
        (
            says(
                "The module, and tests with dates from the calendar.",
                write("ferry/holidays.py", papers.HOLIDAYS),
                write("tests/test_holidays.py", papers.TEST_HOLIDAYS),
                run("./check holidays"),
            ),
            says(
                "`runs_as(year, month, day)` gives the day of the week whose sailings run. All four tests "
                "pass; Easter is right for 2026 to 2028, and for every other year by the usual reckoning. "
                "It is not wired in yet, as you asked."
            ),
        ),
        "ferry/holidays.py: ships run as on a Sunday on holidays; not wired in yet, by wish of the owner",
        lessons=(
            Lesson(
                "project_holidays.md",
                "On public holidays the ships run as on a Sunday",
                "project",
                "On public holidays the ships run as on a Sunday. The ones that count are New Year, 1 May, "
                "17 May, both days of Christmas, and those around Easter.",
            ),
        ),
    ),
    Scene(
        "And a note for the islanders' mailing list, docs/news.md. Only what they notice, and thank Kaja "
        "and Henrik.",
        (
            says("For people, not for programmers.", write("docs/news.md", papers.NEWS)),
            says("It is in `docs/news.md`, seven points and a thank you."),
        ),
        "docs/news.md for the mailing list of the islanders",
    ),
    Scene(
        "Now the thing with on_day: sort once when the table is loaded, then on_day only picks. Mind "
        "that the order of the table may matter somewhere.",
        (
            says("Where is the order used?", read("ferry/timetable.py"), run("grep -rnE 'on_day|load[(]' ferry tests")),
            says(
                "Nowhere but in `on_day` itself, so `load` may sort.",
                edit("ferry/timetable.py", "of a table, in its order.", "of a table, in the order they leave."),
                edit(
                    "ferry/timetable.py",
                    "    return [sailing(line) for line in lines]",
                    "    return sorted(map(sailing, lines), key=lambda one: one.leaves)",
                ),
                edit(
                    "ferry/timetable.py",
                    "    return sorted((one for one in sailings if day in one.days), key=lambda one: one.leaves)",
                    "    return [one for one in sailings if day in one.days]",
                ),
                run("./check"),
            ),
            says(
                "34 of 34 pass. One thing to know: `search` now relies on sailings in the order they "
                "leave. The tests give it sorted lists, so they pass; a list that is not sorted would be "
                "searched wrongly, and nothing says so. I would write it down in `search`."
            ),
        ),
        "load sorts once, on_day only picks; search needs sorted sailings",
    ),
    Scene(
        "Do that, one sentence in its docstring.",
        (
            says("Reading it again after all this.", read("ferry/routes.py")),
            says(
                "One sentence.",
                edit(
                    "ferry/routes.py",
                    "    Looks at the sailings of the day in the order they leave.",
                    "    Looks at the sailings of the day in the order they leave, which is how `load` gives them.",
                ),
                run("./check routes"),
            ),
            says("Done; the tests of routes pass."),
        ),
        "search says that it needs sailings as load gives them",
    ),
    Scene(
        "Give me the trace across the islands once more, I want to compare it with this morning's.",
        (
            says("The same command as before.", run("./check -v across")),
            says(
                "Same journey: 08:20, 09:36, 10:48, in Ytre at 11:18. The trace ends there now; this "
                "morning it went on until the last ship of the night."
            ),
        ),
        "the trace is the same up to the answer, and ends there",
    ),
    Scene(
        "And the whole Saturday, all harbours.",
        (
            says("All of it.", run("./check -v saturday")),
            says("Every harbour is reached from Vestvik on a Saturday; Ytre last, at 11:18."),
        ),
        "every harbour is reached on a Saturday",
    ),
    Scene(
        "Before we finish I want a review as if somebody else had written it. Read all four modules "
        "and be strict.",
        (
            says("The first two.", read("ferry/timetable.py"), read("ferry/routes.py")),
            says("And the others.", read("ferry/fares.py"), read("ferry/week.py"), read("ferry/__main__.py")),
            says(
                "Strictly: `fare` charges a group's children in full, which may be meant but is said "
                "nowhere. `week` gives an empty week for a harbour nobody knows, where the plan says "
                "there is none. `DAY` was unused until the clock needed it. Nothing is wrong; the first "
                "is a question for Kaja, the second I would change."
            ),
        ),
        "review: children in groups pay in full (ask Kaja); an unknown harbour has an empty week",
    ),
    Scene(
        "Add the first to Kaja's list, leave the second.",
        (
            says(
                "One more question.",
                read("docs/kaja.md"),
            ),
            says(
                "At the end.",
                edit("docs/kaja.md", "both included?\n", "both included?\n4. Do children in a group of ten pay like adults? ferry charges them in full.\n"),
            ),
            says("It is number four."),
        ),
        "four questions for Kaja",
    ),
    Scene(
        "The README needs --week and the new way times look.",
        (
            says("Reading it.", read("README.md")),
            says(
                "Two lines.",
                edit(
                    "README.md",
                    "    ./check                                    all tests\n",
                    "    ./plan --week Storholm                     everything that leaves from a harbour\n"
                    "    ./check                                    all tests\n",
                ),
                edit("README.md", "listed\n(`Mo,We,Sa`).", "listed\n(`Mo,We,Sa`). A time after midnight is shown as 00:05 (+1)."),
            ),
            says("The README has both."),
        ),
        "the README knows --week and (+1)",
        compacts="keep the questions for Kaja and every decision about what travellers see",
    ),
    Scene(
        "I will be asked about this next week, so: how exactly do we round money, and who told us?",
        (says(""),),
        "answered how money is rounded",
        facts=(ROUNDING,),
        recalls=("project_rounding.md",),
    ),
    Scene(
        "And how long does one need to change ships in Storholm, and until when does that hold?",
        (says(""),),
        "answered about Storholm",
        facts=(STORHOLM,),
        recalls=("project_storholm_change.md",),
    ),
    Scene(
        "Last: what were my ground rules this morning? Check that we kept every one of them.",
        (
            says("I look for what would break them.", run("grep -nE '^(from|import) |datetime|float' ferry/*.py; ./check")),
            says("We kept them: only modules of the standard library, no datetime, no float, and 34 of 34 tests pass."),
        ),
        "the ground rules were kept",
        facts=(RULES,),
        recalls=("feedback_ground_rules.md",),
    ),
    Scene(
        "Then write CHANGES.md for the two of us, and that was it for today. Thank you.",
        (
            says(
                "From this morning to now.",
                write(
                    "CHANGES.md",
                    "# Changes\n\n- Times up to 29:59 are read; travellers see 00:05 (+1).\n- Ranges of days wrap: Fr-Mo.\n"
                    "- Money is whole cents, rounded half up.\n- Changing takes 7 minutes, 12 in Storholm until 2027-04-15.\n"
                    "- The search stops early; the table is sorted once.\n- `./plan --week HARBOUR`; misspelt harbours are named.\n",
                ),
            ),
            says("It is written. Thank you, and good luck with the harbour office."),
        ),
        "CHANGES.md is written",
    ),
)  # fmt: skip
