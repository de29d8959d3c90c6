// Plots by uPlot. Each series is named where it is, so that no legend is needed.
(() => {
  const HEIGHT = 190;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colours = () => ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"].map(css);
  const short = (value) => value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : `${+value.toPrecision(3)}`;
  const charts = new Map();

  const axis = (values) => ({ stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "12px system-ui", ...(values ? { values: (_, all) => all.map(values), size: 64 } : {}) });

  // Names at the right end of each series, moved apart where they would lie on each other.
  function named(names, inks) {
    return (plot) => {
      const context = plot.ctx;
      const scale = devicePixelRatio;
      context.save();
      context.font = `${12 * scale}px system-ui`;
      context.textBaseline = "middle";
      context.textAlign = "left";
      let places = names.map((name, n) => {
        const values = plot.data[n + 1];
        const last = values[values.length - 1] ?? 0;
        const below = plot.series[n + 1].below?.[values.length - 1] ?? null;
        return { name, ink: inks[n], y: plot.valToPos(below === null ? last : (last + below) / 2, "y", true) };
      }).sort((a, b) => a.y - b.y);
      for (let n = 1; n < places.length; n++) places[n].y = Math.max(places[n].y, places[n - 1].y + 14 * scale);
      const over = (places.at(-1)?.y ?? 0) - (plot.bbox.top + plot.bbox.height);
      for (const place of places) {
        context.fillStyle = place.ink;
        context.fillText(place.name, plot.bbox.left + plot.bbox.width + 8 * scale, place.y - Math.max(0, over));
      }
      context.restore();
    };
  }

  // Vertical lines where something happened, with its name at the top.
  function marked(events, ink) {
    return (plot) => {
      const context = plot.ctx;
      const scale = devicePixelRatio;
      context.save();
      context.strokeStyle = context.fillStyle = ink;
      context.font = `${11 * scale}px system-ui`;
      context.textBaseline = "middle";
      context.setLineDash([3 * scale, 3 * scale]);
      let free = -1;
      for (const { call, name } of events) {
        const x = plot.valToPos(call, "x", true);
        context.beginPath();
        context.moveTo(x, plot.bbox.top);
        context.lineTo(x, plot.bbox.top + plot.bbox.height);
        context.stroke();
        const width = context.measureText(name).width + 8 * scale;
        const late = x + width > plot.bbox.left + plot.bbox.width;
        if ((late ? x - width : x) <= free) continue;
        context.textAlign = late ? "right" : "left";
        context.fillText(name, x + (late ? -4 : 4) * scale, plot.bbox.top - 5 * scale);
        free = late ? x : x + width;
      }
      context.restore();
    };
  }

  function draw(target, data, series, extra = {}) {
    charts.get(target)?.destroy();
    target.replaceChildren();
    const width = target.clientWidth || 600;
    const plot = new uPlot({
      width, height: HEIGHT, padding: [16, extra.room ?? 120, 0, 0], legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: { x: { time: false, ...(extra.bars ? { range: (_, low, high) => [low - 0.5, high + 0.5] } : {}) }, y: { range: (_, low, high) => [0, Math.max(high * 1.05, extra.least ?? 1e-9)] } },
      axes: [{ ...axis(), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], ...extra.x }, axis(extra.y || short)],
      series: [{}, ...series], bands: extra.bands || [],
      hooks: { draw: extra.draw || [] },
    }, data, target);
    charts.set(target, plot);
  }

  function stacked(target, found) {
    const names = Object.keys(found.fill.parts);
    const inks = colours();
    const sums = found.fill.calls.map(() => 0);
    const layers = names.map((name) => found.fill.parts[name].map((value, n) => (sums[n] += value)));
    const series = layers.map((layer, n) => ({ stroke: inks[n % 6], fill: inks[n % 6] + "66", width: 1.5, points: { show: layer.length < 3 }, below: n ? layers[n - 1] : layer.map(() => 0) }));
    series.forEach((one, n) => { if (n) delete one.fill; });
    const bands = series.slice(1).map((_, n) => ({ series: [n + 2, n + 1], fill: inks[(n + 1) % 6] + "66" }));
    const events = Object.values(Object.groupBy(found.events.filter((one) => /compaction|snip|collapse/.test(one.layer)), (one) => `${one.call} ${one.layer}`)).map(([one]) => ({ call: one.call, name: one.layer.replace(/^\d /, "") }));
    draw(target, [found.fill.calls, ...layers], series, { bands, draw: [named(names, inks), marked(events, css("--soft"))] });
  }

  function lines(target, found) {
    const inks = [css("--c5"), css("--c6"), css("--bad")];
    const series = inks.map((ink) => ({ stroke: ink, width: 1.5, points: { show: found.calls.length < 3 } }));
    const breaks = found.breaks.map((one) => ({ call: one.call, name: one.why.replace(/^expected: /, "").slice(0, 24) }));
    draw(target, [found.calls, found.read, found.written, found.input], series, { draw: [named(["read", "written", "uncached"], inks), marked(breaks, css("--soft"))] });
  }

  function cost(target, found) {
    const ink = css("--c1");
    draw(target, [found.calls, found.cost], [{ stroke: ink, fill: ink + "22", width: 1.5, points: { show: found.calls.length < 3 } }], { y: (value) => `$${+value.toPrecision(3)}`, draw: [named(["dollars"], [ink])] });
  }

  function days(target) {
    const dates = target.dataset.days.split(",");
    const values = target.dataset.values.split(",").map(Number);
    const ink = css("--c1");
    const label = (_, all) => all.map((n) => Number.isInteger(n) ? (dates[n] ?? "").slice(5) : "");
    draw(target, [dates.map((_, n) => n), values], [{ stroke: ink, fill: ink + "88", paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } }], { room: 10, bars: true, x: { values: label }, y: (value) => `$${+value.toPrecision(3)}`, least: 0.01 });
  }

  async function plots(holder) {
    const answer = await fetch(holder.dataset.plots);
    if (!answer.ok) return;
    const found = await answer.json();
    for (const target of holder.querySelectorAll("[data-plot]")) {
      if (target.dataset.plot === "fill" && found.fill.calls.length) stacked(target, found);
      if (target.dataset.plot === "cache") lines(target, found);
      if (target.dataset.plot === "cost") cost(target, found);
    }
  }

  function all() {
    document.querySelectorAll("[data-plots]").forEach(plots);
    document.querySelectorAll('[data-plot="days"]').forEach(days);
  }
  all();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
  // A live session is swapped in as new elements.
  new MutationObserver((seen) => {
    for (const change of seen) for (const node of change.addedNodes) {
      if (node.nodeType === 1) (node.matches("[data-plots]") ? [node] : node.querySelectorAll("[data-plots]")).forEach?.(plots);
    }
  }).observe(document.body, { childList: true, subtree: true });
})();
