// The list of all pairs: columns from the page's JSON, filtered by the search and drawn for the part
// that is in sight. Everything shown goes in as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("pairs").textContent);
  const rowHeight = 24;
  // Browsers limit an element's height; past this the scroll bar stands for more rows than pixels.
  const mostPixels = 8e6;
  const find = (id) => document.getElementById(id);
  const view = find("view"), spacer = find("spacer"), search = find("search");
  const differing = find("differing"), kind = find("kind"), count = find("count"), detail = find("detail");

  const text = (i) => (i < 0 ? "" : data.strings[i]);
  const sideText = (side, i) => {
    const name = text(side.op[i]);
    const more = side.more[i];
    return more ? `${name} +${more}` : name;
  };
  const labelOf = (i) => data.labels[data.label.charCodeAt(i) - 48];
  const phaseOf = (i) => data.phases[data.phase.charCodeAt(i) - 48];
  const sparse = new Map();  // pair -> index in data.differing
  data.differing.pair.forEach((pair, at) => sparse.set(pair, at));
  const value = (name, i) => {
    const at = sparse.get(i);
    return at === undefined ? null : data.differing[name][at];
  };
  const short = (x) => {  // as format.h's magnitude
    if (x === null || typeof x === "string") return x ?? "";
    if (x === 0) return "0";
    if (x < 1e-3 || x >= 1e5) return x.toExponential(1);
    return x >= 10 ? x.toFixed(0) : String(Number(x.toPrecision(2)));
  };

  let shown = [];   // pairs that pass the filter, in order
  let chosen = -1;  // a pair

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const matches = words.map((word) => data.strings.map((s) => s.toLowerCase().includes(word)));
    const fits = (i) => {
      if (differing.checked && labelOf(i) === "identical") return false;
      if (kind.value !== "" && labelOf(i) !== kind.value) return false;
      return matches.every((has, w) => {
        for (const s of [data.a.op[i], data.b.op[i], data.module[i], data.line[i], data.operand[i]])
          if (s >= 0 && has[s]) return true;
        return words[w] === "#" + data.a.id[i] || words[w] === "#" + data.b.id[i] ||
          phaseOf(i) === words[w];
      });
    };
    shown = [];
    for (let i = 0; i < data.count; ++i) if (fits(i)) shown.push(i);
    count.textContent = `${shown.length.toLocaleString("en")} of ${data.count.toLocaleString("en")}`;
    spacer.style.height = Math.min(shown.length * rowHeight, mostPixels) + "px";
    draw();
  }

  const pixels = () => Math.min(shown.length * rowHeight, mostPixels);
  const sight = () => view.clientHeight - rowHeight;  // the head covers a row
  const firstVisible = () => {
    const scrollable = pixels() - sight();
    if (shown.length * rowHeight <= mostPixels) return Math.floor(view.scrollTop / rowHeight);
    const last = shown.length - Math.floor(sight() / rowHeight);
    return Math.round((view.scrollTop / scrollable) * last);
  };

  function cell(row, content, className) {
    const element = document.createElement("span");
    element.textContent = content;
    if (className) element.className = className;
    element.title = content;
    row.appendChild(element);
  }

  function draw() {
    const first = Math.max(0, Math.min(firstVisible(), shown.length - 1));
    const fits = Math.ceil(sight() / rowHeight) + 1;
    const exact = shown.length * rowHeight <= mostPixels;
    const rows = [];
    for (let at = first; at < Math.min(first + fits, shown.length); ++at) {
      const i = shown[at];
      const row = document.createElement("div");
      row.className = "row" + (i === chosen ? " chosen" : "");
      row.style.top = (exact ? at * rowHeight : view.scrollTop + (at - first) * rowHeight) + "px";
      row.dataset.pair = i;
      row.setAttribute("role", "row");
      cell(row, i + 1, "dim");
      cell(row, `${data.step[i]} ${phaseOf(i)}`, "dim");
      cell(row, sideText(data.a, i));
      cell(row, sideText(data.b, i));
      cell(row, text(data.module[i]), "dim");
      cell(row, data.phrases[labelOf(i)], "label " + labelOf(i));
      cell(row, short(value("error", i)), "number");
      cell(row, short(value("ulp", i)), "number");
      rows.push(row);
    }
    spacer.replaceChildren(...rows);
  }

  function fact(list, title, content) {
    if (content === "" || content === null) return;
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = title;
    dd.textContent = content;
    list.append(dt, dd);
  }

  function show(i) {
    const list = document.createElement("dl");
    list.className = "facts";
    const side = (s) => (s.id[i] ? `${sideText(s, i)} (#${s.id[i]})` : "no partner");
    fact(list, "A", side(data.a));
    fact(list, "B", side(data.b));
    const place = [`step ${data.step[i]}`, phaseOf(i), text(data.module[i]), text(data.line[i])];
    fact(list, "where", place.filter((part) => part !== "").join(", "));
    const at = sparse.get(i);
    let what = data.phrases[labelOf(i)];
    if (at !== undefined && data.differing.difference[at]) what += `: ${data.differing.difference[at]}`;
    fact(list, "label", what);
    const sizes = [text(data.operand[i])];
    if (at !== undefined) {
      if (value("error", i) !== null) sizes.push(`${short(value("error", i))} relative`);
      if (value("ulp", i) !== null) sizes.push(`about ${short(value("ulp", i))} ulp`);
      if (value("inherited", i)) sizes.push(`${short(value("inherited", i))} inherited`);
    }
    fact(list, "operand", sizes.filter((part) => part !== "").join(", "));
    detail.replaceChildren(list);
  }

  /// Brings a pair into sight; lifts the filter where it hides it.
  function choose(i) {
    if (!(i >= 0 && i < data.count)) return;
    let at = shown.indexOf(i);
    if (at < 0) {
      search.value = "";
      kind.value = "";
      differing.checked = false;
      filter();
      at = i;
    }
    chosen = i;
    const first = firstVisible(), fits = Math.floor(sight() / rowHeight);
    if (at < first || at >= first + fits) {
      const top = Math.max(0, at - Math.floor(fits / 2));
      const exact = shown.length * rowHeight <= mostPixels;
      view.scrollTop = exact ? top * rowHeight
        : (top / (shown.length - fits)) * (pixels() - sight());
    }
    show(i);
    draw();
  }

  function step(by) {
    const at = shown.indexOf(chosen);
    const next = at < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, at + by));
    if (shown.length > 0) choose(shown[next]);
  }

  /// The next pair after the chosen one at which a difference starts, around the end.
  function nextStart(by) {
    const starts = data.starts;
    if (starts.length === 0) return;
    let at = by > 0 ? starts.findIndex((i) => i > chosen) : starts.findLastIndex((i) => i < chosen);
    if (at < 0) at = by > 0 ? 0 : starts.length - 1;
    choose(starts[at]);
  }

  /// #row=N, #q=TEXT, #kind=LABEL, #differing, #theme=dark: parts are joined by "&".
  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has("theme")) document.documentElement.dataset.theme = wanted.get("theme");
    if (wanted.has("q")) search.value = wanted.get("q");
    if (wanted.has("kind")) kind.value = wanted.get("kind");
    differing.checked = wanted.has("differing");
    filter();
    if (wanted.has("row")) {
      choose(Number(wanted.get("row")));
      if (wanted.size === 1) find("list").scrollIntoView();
    }
  }

  for (const label of new Set(Array.from({length: data.count}, (_, i) => labelOf(i)))) {
    const option = document.createElement("option");
    option.value = label;
    option.textContent = data.phrases[label];
    kind.appendChild(option);
  }
  search.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  differing.addEventListener("change", filter);
  view.addEventListener("scroll", draw, {passive: true});
  window.addEventListener("resize", draw);
  window.addEventListener("hashchange", follow);
  spacer.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) choose(Number(row.dataset.pair));
  });
  view.addEventListener("keydown", (event) => {
    const page = Math.floor(sight() / rowHeight) - 1;
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
      Home: -data.count, End: data.count};
    if (event.key in moves) step(moves[event.key]);
    else if (event.key === "n") nextStart(1);
    else if (event.key === "p") nextStart(-1);
    else return;
    event.preventDefault();
  });
  find("next").addEventListener("click", () => nextStart(1));
  find("previous").addEventListener("click", () => nextStart(-1));
  follow();
})();
