"""The composition root: settings become models, windows, caps and transcripts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import HEAD, RECORDS, talk, user, write_lines
from tests.place import NOON, Place, git

from reverie.conversation.cache_report import report_on, what_if
from reverie.conversation.records import HeadFrozen, Opened, Used
from reverie.core.request import Head, Request
from reverie.core.usage import FREE, Caps, Prices, Usage
from reverie.errors import InputError, SettingsError, TranscriptError, UnknownModelError
from reverie.events import CapReached, Event, MoneySpent
from reverie.models.anthropic import AnthropicModel
from reverie.models.metered import MeteredModel
from reverie.models.offline import OfflineModel
from reverie.models.openai import OpenAIModel
from reverie.models.wrappers import PatientModel, TracedModel
from reverie.ports import complete
from reverie.workspace import SystemClock, Workspace

REQUEST = Request(Head("offline"), (user("hi"),))


def _inner(model: object) -> object:
    """The provider's model inside the retrying one."""
    return model.model if isinstance(model, PatientModel) else model


class TestOpening:
    def test_here_is_the_default(self, place: Place) -> None:
        app = Workspace.open()
        assert app.project.root == place.root
        assert app.settings.home == place.home
        assert isinstance(app.clock, SystemClock)
        assert app.clock.now() > NOON

    def test_a_sub_folder_of_a_repository_is_the_repository(self, place: Place) -> None:
        git(place.root, "init", "-q")
        place.settings("features.dream = false", "project")
        inner = place.root / "src"
        inner.mkdir()
        app = Workspace.open(inner)
        assert app.project.root == place.root
        assert app.settings["features.dream"] is False

    def test_another_home(self, place: Place) -> None:
        app = Workspace.open(home=place.base / "other")
        assert app.project.folder.is_relative_to(place.base / "other" / "projects")

    @pytest.mark.parametrize("name", ["missing", "file", "x" * 5000])
    def test_a_project_that_is_no_folder(self, place: Place, name: str) -> None:
        (place.base / "file").write_text("")
        with pytest.raises(InputError, match=r"--project .* is not a folder"):
            Workspace.open(place.base / name)

    def test_a_wrong_setting(self, place: Place) -> None:
        with pytest.raises(SettingsError, match=r"models\.man.*models\.main"):
            place.app("models.man=x")


class TestModels:
    def test_offline(self, place: Place) -> None:
        assert isinstance(_inner(place.app().bare_model("offline")), OfflineModel)
        assert place.app().provider_of("offline") is None

    @pytest.mark.parametrize(
        ("name", "kind", "called"),
        [
            ("anthropic:claude-opus-5", AnthropicModel, "claude-opus-5"),
            ("claude-opus-5", AnthropicModel, "claude-opus-5"),
            ("claude-opus-4-5-20251101", AnthropicModel, "claude-opus-4-5-20251101"),
            ("openai:gpt-5.5", OpenAIModel, "gpt-5.5"),
            ("gpt-5.5", OpenAIModel, "gpt-5.5"),
            ("ollama:qwen3:8b", OpenAIModel, "qwen3:8b"),
        ],
    )
    def test_a_name_finds_its_adapter(
        self, place: Place, name: str, kind: type, called: str
    ) -> None:
        model = place.app().bare_model(name)
        assert isinstance(_inner(model), kind)
        assert model.name == called  # type: ignore[attr-defined]

    def test_a_provider_of_ones_own(self, place: Place) -> None:
        app = place.app(
            "providers.local.kind=openai", "providers.local.base_url=http://127.0.0.1:9/v1"
        )
        assert app.bare_model("local:tiny").prices is None
        provider = app.provider_of("local:tiny")
        assert provider is not None
        assert not app.has_key(provider)

    def test_a_key_is_found_in_the_environment(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = place.app()
        provider = app.provider_of("claude-opus-5")
        assert provider is not None
        assert not app.has_key(provider)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        assert app.has_key(provider)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("claude-opus5", r"no model 'claude-opus5'.*did you mean claude-opus-5"),
            ("zzz", r"no model 'zzz' in the catalog \(a model it does not list: provider:zzz\)"),
            ("antropic:x", r"no provider 'antropic'.*did you mean anthropic:x\?.*providers.antropic.kind"),
            ("zzz:x", r"no provider 'zzz' for the model 'zzz:x' \(known: anthropic, openai, ollama"),
        ],
    )  # fmt: skip
    def test_a_name_nobody_serves(self, place: Place, name: str, said: str) -> None:
        with pytest.raises(UnknownModelError, match=said):
            place.app().bare_model(name)

    async def test_no_call_escapes_the_ledger(self, place: Place) -> None:
        app = place.app()
        heard: list[Event] = []
        model = app.model("offline", session="s1", purpose="recall", announce=heard.append)
        assert isinstance(model, MeteredModel)
        await complete(model, REQUEST)
        [entry] = app.ledger.entries()
        assert (entry.session, entry.purpose, entry.cost, entry.at) == ("s1", "recall", 0, NOON)
        assert heard == [MoneySpent(entry)]

    def test_telemetry_by_setting(self, place: Place) -> None:
        model = place.app("telemetry.enabled=true").model("offline", session="s1")
        assert isinstance(model, MeteredModel)
        assert isinstance(model.model, TracedModel)

    async def test_caps_come_from_the_settings(self, place: Place) -> None:
        app = place.app(
            "spend.day=2", "spend.session=1.5", "spend.purpose.recall=0", "spend.main_on_cap=stop"
        )
        assert app.caps("main") == Caps(2.0, 1.5, {}, main_stops=True)
        assert app.caps("recall") == Caps(2.0, 1.5, {"recall": 0.0}, main_stops=True)
        assert not place.app().caps("main").any
        heard: list[Event] = []
        await complete(app.model("offline", session="s", announce=heard.append), REQUEST)
        assert not [event for event in heard if isinstance(event, CapReached)]


WINDOWS = [
    ("claude-opus-4-5", (), 200_000, "the shipped model table"),
    ("anthropic:claude-opus-5", (), 1_000_000, "the shipped model table"),
    ("claude-opus-4-5[1m]", (), 1_000_000, "[1m] on the model name"),
    ("ollama:tiny", ("window.tokens=8000",), 8_000, "window.tokens"),
    ("ollama:tiny", ("window.beta_1m=true",), 1_000_000, "window.beta_1m"),
    ("ollama:tiny", (), 200_000, "default"),
    ("", (), 200_000, "default"),
]


@pytest.mark.parametrize(("name", "overrides", "tokens", "source"), WINDOWS)
def test_windows(place: Place, name: str, overrides: Any, tokens: int, source: str) -> None:
    window = place.app(*overrides).window(name)
    assert (window.tokens, window.source) == (tokens, source)


class TestPrices:
    def test_the_table_holds_unless_the_person_says_otherwise(self, place: Place) -> None:
        shipped = place.app().bare_model("claude-opus-5").prices
        assert shipped == Prices.of(5, 25)
        app = place.app('prices."claude-opus-5".input=1', 'prices."claude-opus-5".output=2')
        assert app.bare_model("claude-opus-5").prices == Prices(1, 2, 1, 1.25, 2)

    def test_a_price_of_reading_the_cache(self, place: Place) -> None:
        told = [
            f"prices.tiny.{k}={v}" for k, v in (("input", 1), ("output", 2), ("cache_read", 0.5))
        ]
        prices = place.app(*told).bare_model("ollama:tiny").prices
        assert prices is not None
        assert prices.cache_read == 0.5

    def test_half_a_price_is_none(self, place: Place) -> None:
        assert place.app("prices.tiny.input=1").bare_model("ollama:tiny").prices is None


class TestTranscripts:
    def test_by_id_by_its_start_and_by_path(self, place: Place) -> None:
        path = place.journal("abc-1", *RECORDS)
        place.journal("xyz", *RECORDS)
        app = place.app()
        assert app.transcript("abc-1") == app.transcript("ab") == app.transcript(str(path)) == path

    def test_a_whole_id_wins_over_longer_ones(self, place: Place) -> None:
        path = place.journal("s1", *RECORDS)
        place.journal("s10", *RECORDS)
        assert place.app().transcript("s1") == path

    def test_an_ambiguous_start(self, place: Place) -> None:
        for name in ("abc-1", "abc-2"):
            place.journal(name, *RECORDS)
        with pytest.raises(InputError, match=r"'abc' fits 2 sessions: abc-2, abc-1; give more"):
            place.app().transcript("abc")

    @pytest.mark.parametrize("name", ["nope", "x" * 5000, "\0", "../..", "."])
    def test_nothing_of_that_name(self, place: Place, name: str) -> None:
        with pytest.raises(InputError, match=r"no session .* here; `reverie sessions` lists them"):
            place.app().transcript(name)

    def test_the_newest_comes_first_and_dangling_links_do_not_count(self, place: Place) -> None:
        for name in ("old", "new"):
            place.journal(name, *RECORDS)
        app = place.app()
        (app.project.sessions / "gone.jsonl").symlink_to("nowhere")
        assert [path.stem for path in app.journals()] == ["new", "old"]
        assert place.app().project.sessions == app.project.sessions


class TestWhatIf:
    def lines(self, model: str = "claude-opus-5") -> list[Any]:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 0, "output_tokens": 9}
        lines = []
        for i in range(4):
            grown = usage | {"cache_creation_input_tokens": 20_000 + i * 400}
            reply = claude.reply(claude.text(f"a{i} " * 60), id=f"m{i}", usage=grown, model=model)
            lines += [claude.prompt(f"q{i} " * 60), reply]
        return lines

    def test_every_plan_is_priced(self, place: Place) -> None:
        path = write_lines(place.base / "c.jsonl", self.lines())
        found = what_if(place.app().settings, path)
        cost = {outcome.plan.name: outcome.cost for outcome in found.outcomes}
        assert set(cost) == {"no caching", "tail only", "ours", "ours, ttl auto"}
        assert cost["ours"] <= cost["tail only"] < cost["no caching"]
        assert found.billed.prompt == sum(20_005 + i * 400 for i in range(4))
        assert found.billed_cost > cost["ours"]
        assert found.row.name == "claude-opus-5"

    def test_priced_as_another_model(self, place: Place) -> None:
        path = write_lines(place.base / "c.jsonl", self.lines())
        cheap = what_if(place.app().settings, path, model="anthropic:claude-haiku-5-5")
        assert cheap.outcomes[0].cost < what_if(place.app().settings, path).outcomes[0].cost

    def test_a_model_nobody_knows(self, place: Place) -> None:
        path = write_lines(place.base / "c.jsonl", self.lines("claude-opus5"))
        with pytest.raises(UnknownModelError, match=r"did you mean claude-opus-5.*--model"):
            what_if(place.app().settings, path)

    def test_no_figures_to_replay(self, place: Place) -> None:
        path = place.journal("s", Opened("s", NOON), HeadFrozen(HEAD), *RECORDS[3:5])
        with pytest.raises(TranscriptError, match="holds no model call with usage figures"):
            what_if(place.app().settings, path)


class TestCacheReport:
    def test_an_unknown_model_has_no_cache_and_no_price(self, place: Place) -> None:
        [row] = report_on(place.app().settings, place.journal("s", *talk(2, prompt=2000)))
        assert (row.session, row.calls, row.breaks) == ("s", 2, ())

    def test_another_model(self, place: Place) -> None:
        path = place.journal("s", *talk(2, prompt=2000))
        [row] = report_on(place.app().settings, path, model="anthropic:claude-opus-5")
        assert row.usage.prompt == 4_200

    def test_a_price_the_person_set_holds_with_or_without_the_provider(self, place: Place) -> None:
        records = [r for r in talk(2, prompt=9_000) if not isinstance(r, Used)]
        for i, record in enumerate([r for r in talk(2) if isinstance(r, Used)]):
            usage = Usage(cache_write_5m=9_000 + i)
            records.insert(4 + 3 * i, replace(record, usage=usage, at=NOON + i))
        path = place.journal("s", *records)
        told = [f"prices.tiny.{kind}=100" for kind in ("input", "output")]
        app = place.app(*told)
        rows = [report_on(app.settings, path, model=name) for name in ("tiny", "ollama:tiny")]
        assert rows[0] == rows[1]
        assert rows[0][0].breaks[0].cost == pytest.approx(9_000 * 25 / 1_000_000)

    def test_a_session_without_calls_has_no_rows(self, place: Place) -> None:
        assert report_on(place.app().settings, place.journal("s", *RECORDS[3:5])) == []


def test_the_offline_model_is_free(place: Place) -> None:
    assert place.app().bare_model("offline").prices == FREE
