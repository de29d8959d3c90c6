// Keys, the as-of slider, and the list of keys. Everything it does can be done without it.
(() => {
  document.documentElement.classList.add("js");
  const VIEWS = { m: "memory", h: "history", i: "inbox", d: "dreams", s: "sessions", p: "spend", t: "impact", e: "health" };
  let going = false;

  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.querySelector("[data-row].current");

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    current()?.classList.remove("current");
    next.classList.add("current");
    next.scrollIntoView({ block: "nearest" });
    (next.querySelector("a.title, a[data-open], a") || next).focus({ preventScroll: true });
  }

  // A key belongs to the current card, else to the page.
  function keyed(key) {
    const wanted = `[data-key="${CSS.escape(key)}"]`;
    return current()?.querySelector(wanted) || [...document.querySelectorAll(wanted)].find((one) => !one.closest("[data-card]"));
  }

  async function help() {
    let dialog = document.querySelector("dialog.help");
    if (!dialog) {
      const answer = await fetch("/keys");
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      dialog = document.createElement("dialog");
      dialog.className = "help";
      dialog.setAttribute("aria-label", "Keys");
      const close = document.createElement("button");
      close.textContent = "Close";
      close.addEventListener("click", () => dialog.close());
      dialog.append(page.getElementById("keys"), close);
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  }

  function act(element) {
    if (element.matches("input[type=search]")) { element.focus(); element.select(); return; }
    if (element.matches("[type=radio]")) { element.checked = true; move(1); return; }
    element.click();
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");
    if (event.key === "Escape" && typing) { typing.blur(); return; }
    if (typing && (event.ctrlKey || event.metaKey) && event.key === "Enter") { typing.form?.querySelector("button.main")?.click(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (going) {
      going = false;
      if (VIEWS[event.key]) { event.preventDefault(); location.href = `/${VIEWS[event.key]}`; }
      return;
    }
    if (event.key === "g") { going = true; return; }
    if (event.key === "j") return move(1);
    if (event.key === "k") return move(-1);
    if (event.key === "?") { event.preventDefault(); return help(); }
    if (event.key === "x") { const mark = current()?.querySelector("[data-mark]"); if (mark) mark.checked = !mark.checked; return; }
    const found = keyed(event.key);
    if (found) { event.preventDefault(); act(found); }
  });

  document.querySelector("header .keys")?.addEventListener("click", (event) => { event.preventDefault(); help(); });

  // The slider counts days back from today and sets the date beside it.
  for (const slider of document.querySelectorAll("[data-date]")) {
    slider.closest("label").hidden = false;
    const date = slider.form.elements[slider.dataset.date];
    const today = Date.parse(`${slider.dataset.today}T12:00:00Z`);
    if (date.value) slider.value = Math.round((today - Date.parse(`${date.value}T12:00:00Z`)) / 864e5);
    slider.addEventListener("input", (event) => {
      const back = Number(slider.value);
      date.value = back ? new Date(today - back * 864e5).toISOString().slice(0, 10) : "";
    });
    date.addEventListener("input", () => { slider.value = date.value ? Math.round((today - Date.parse(`${date.value}T12:00:00Z`)) / 864e5) : 0; });
  }
  document.querySelector(".wanted")?.scrollIntoView({ block: "center" });
})();
