"use strict";
(() => {
  const rows = [...document.querySelectorAll("details.row")];
  const controls = document.getElementById("controls");
  const status = document.getElementById("status");
  const fields = ["state", "decision", "slice"].map((name) => [name, document.getElementById("by-" + name)]);
  const text = document.getElementById("by-text");
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };

  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = fields.every(([name, select]) => !select.selectedIndex || row.dataset[name] === select.value);
      row.hidden = !(fits && (!wanted || textOf(row).includes(wanted)));
      shown += row.hidden ? 0 : 1;
    }
    status.textContent = shown + " of " + rows.length + " rows on this page";
  };

  const reveal = () => {
    const row = /^#row-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!row) return;
    row.hidden = false;
    row.open = true;
    row.scrollIntoView();
  };

  let openedForPrint = [];
  addEventListener("beforeprint", () => {
    openedForPrint = rows.filter((row) => !row.hidden && !row.open && row.dataset.passing === "no").slice(0, 200);
    openedForPrint.forEach((row) => { row.open = true; });
  });
  addEventListener("afterprint", () => openedForPrint.forEach((row) => { row.open = false; }));

  for (const [, select] of fields) select.addEventListener("change", filter);
  text.addEventListener("input", filter);
  document.getElementById("reset").addEventListener("click", () => {
    for (const [, select] of fields) select.selectedIndex = 0;
    text.value = "";
    filter();
  });
  document.getElementById("fold").addEventListener("click", () => {
    const visible = rows.filter((row) => !row.hidden);
    const open = !visible.some((row) => row.open);
    visible.forEach((row) => { row.open = open; });
  });
  addEventListener("hashchange", reveal);
  controls.hidden = false;
  filter();
  reveal();
})();
