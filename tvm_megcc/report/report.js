"use strict";
// The page is complete without this script; it adds the filter, what belongs together, and zoom.
(() => {
  const calls = JSON.parse(document.getElementById("calls").textContent);
  const rows = new Map([...document.querySelectorAll(".call[data-call]")].map((row) => [row.dataset.call, row]));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const about = document.getElementById("about");
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  // ---- calls: pointing at one shows what it reads and who reads it ----------------------------

  function near(id, on) {
    for (const path of all(`.graph path[data-from="${id}"], .graph path[data-to="${id}"]`)) {
      path.classList.toggle("near", on);
      const other = path.dataset.from === id ? path.dataset.to : path.dataset.from;
      rows.get(other)?.classList.toggle("near", on);
    }
    const step = calls[id]?.step;
    for (const rect of all(".memory rect.t")) {
      const lives = step !== undefined && +rect.dataset.first <= step && step < +rect.dataset.last;
      rect.classList.toggle("near", on && lives);
    }
  }

  function line(parent, name, value) {
    if (value === undefined || value === null || value === "" || value.length === 0) return;
    const title = document.createElement("h3");
    title.textContent = name;
    parent.append(title);
    for (const text of Array.isArray(value) ? value : [value]) {
      const row = document.createElement("div");
      row.className = "mono";
      row.textContent = text;
      parent.append(row);
    }
  }

  function show(id) {
    const call = calls[id];
    for (const [other, row] of rows) row.classList.toggle("here", other === id);
    about.hidden = call === undefined;
    if (call === undefined) return;
    const box = about.querySelector("div");
    box.replaceChildren();
    const title = document.createElement("h2");
    title.textContent = `call ${id}: ${call.name}`;
    box.append(title);
    for (const [name, value] of call.about) line(box, name, value);
  }

  for (const [id, row] of rows) {
    row.addEventListener("mouseenter", () => near(id, true));
    row.addEventListener("mouseleave", () => near(id, false));
    row.addEventListener("click", () => show(id));
  }
  about.querySelector("button").addEventListener("click", () => show(undefined));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(undefined);
  });

  function go(id) {
    rows.get(id)?.scrollIntoView({ block: "center" });
    show(id);
  }
  for (const bar of all(".bar[data-call]")) {
    bar.style.cursor = "pointer";
    bar.addEventListener("click", () => go(bar.dataset.call));
  }

  const filter = document.getElementById("filter");
  filter?.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows.values()) {
      const text = row.textContent.toLowerCase();
      row.classList.toggle("off", !words.every((word) => text.includes(word)));
    }
  });

  // ---- the memory plan: wheel and drag, names at the pointer ----------------------------------

  const svg = document.querySelector(".memory svg");
  if (svg !== null) {
    const whole = svg.getAttribute("viewBox").split(" ").map(Number);
    let view = [...whole];
    let drag = null;
    const apply = () => svg.setAttribute("viewBox", view.join(" "));
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    };
    function zoom(factor, [x, y]) {
      const size = Math.min(1, Math.max(1 / 60, (view[2] * factor) / whole[2]));
      const [width, height] = [whole[2] * size, whole[3] * size];
      view = [view[0] + (view[2] - width) * x, view[1] + (view[3] - height) * y, width, height];
      if (size === 1) view = [...whole];
      apply();
    }
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, place(event));
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      drag = { at: place(event), view: [...view] };
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("dragging");
    });
    svg.addEventListener("pointerup", () => {
      drag = null;
      svg.classList.remove("dragging");
    });
    svg.addEventListener("pointermove", (event) => {
      const rect = document.elementFromPoint(event.clientX, event.clientY)?.closest("rect.t");
      tip.hidden = drag !== null || !rect;
      if (!tip.hidden) {
        tip.textContent = rect.dataset.tip;
        const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
        tip.style.left = `${left}px`;
        tip.style.top = `${event.clientY + 16}px`;
      }
      if (drag === null) return;
      const [x, y] = place(event);
      view[0] = drag.view[0] - (x - drag.at[0]) * view[2];
      view[1] = drag.view[1] - (y - drag.at[1]) * view[3];
      apply();
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    // The page has its own, faster tooltip.
    for (const rect of all(".memory rect.t")) {
      const title = rect.querySelector("title");
      rect.dataset.tip = title.textContent;
      title.remove();
    }
    const middle = [0.5, 0.5];
    document.getElementById("zoom-in").addEventListener("click", () => zoom(1 / 1.5, middle));
    document.getElementById("zoom-out").addEventListener("click", () => zoom(1.5, middle));
    document.getElementById("zoom-all").addEventListener("click", () => zoom(1e9, middle));
  }
  document.body.dataset.ready = "yes";
})();
