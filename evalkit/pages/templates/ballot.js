"use strict";
(() => {
  const body = document.body;
  const key = "evalkit-ballot-" + body.dataset.ballot;
  const asks = [...document.querySelectorAll(".ask")];
  const name = document.getElementById("reviewer");
  const status = document.getElementById("status");
  let answers = {};
  let canSave = true;

  const caseOf = (ask) => JSON.parse(ask.dataset.case);
  const newId = () =>
    [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const voted = () => asks.filter((ask) => answers[caseOf(ask)]).length;

  const say = (text, isWrong) => {
    status.textContent = text;
    status.classList.toggle("wrong", Boolean(isWrong));
  };
  const progress = () => {
    const kept = canSave ? "kept in this browser" : "NOT kept by this browser: download before you close the page";
    say(voted() + " of " + asks.length + " rows voted, " + kept + ".", !canSave);
  };

  const save = () => {
    try {
      localStorage.setItem(key, JSON.stringify({ reviewer: name.value, answers }));
      canSave = true;
    } catch {
      canSave = false;
    }
    progress();
  };

  const load = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(key) || "{}");
      name.value = kept.reviewer || "";
      answers = kept.answers || {};
    } catch {
      canSave = false;
    }
    for (const ask of asks) {
      const answer = answers[caseOf(ask)];
      ask.querySelector("textarea").value = answer ? answer.note : "";
      for (const radio of ask.querySelectorAll("input")) radio.checked = Boolean(answer) && radio.value === answer.vote;
    }
    progress();
  };

  for (const ask of asks) {
    ask.addEventListener("change", () => {
      const chosen = ask.querySelector("input:checked");
      if (chosen) {
        // A changed mind is a new act: whoever collects both files keeps the later one.
        const note = ask.querySelector("textarea").value.trim();
        answers[caseOf(ask)] = { vote: chosen.value, note, at: new Date().toISOString(), id: newId() };
      }
      save();
    });
  }

  name.addEventListener("change", () => {
    for (const answer of Object.values(answers)) answer.id = newId();
    save();
  });

  document.getElementById("clear").addEventListener("click", () => {
    if (!confirm("Remove all votes from this page?")) return;
    answers = {};
    name.value = "";
    save();
    load();
  });

  const lines = (reviewer) =>
    asks.filter((ask) => answers[caseOf(ask)]).map((ask) => {
      const { vote, note, at, id } = answers[caseOf(ask)];
      const entry = {
        entry_id: id, kind: "vote", reviewer, at, run_id: body.dataset.run, case_id: caseOf(ask),
        seen_hash: ask.dataset.seen, vote, source: "ballot",
      };
      if (note) entry.note = note;
      return JSON.stringify(entry) + "\n";
    });

  document.getElementById("send").addEventListener("submit", (event) => {
    event.preventDefault();
    const reviewer = name.value.trim();
    if (!reviewer) {
      say("Give your name first: votes without one cannot be counted.", true);
      name.focus();
      return;
    }
    if (!voted()) {
      say("No row is voted yet.", true);
      asks[0].querySelector("input").focus();
      return;
    }
    const link = document.createElement("a");
    const url = URL.createObjectURL(new Blob(lines(reviewer), { type: "application/jsonl" }));
    link.href = url;
    link.download = "votes-" + (reviewer.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "reviewer") + ".jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    say(voted() + " of " + asks.length + " rows are in the file " + link.download + ": mail it to whoever sent you this page.");
  });

  load();
})();
