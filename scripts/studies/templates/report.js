// Sorts a table by the column whose head is clicked. Cells without a value stay at the end.
for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  table.tHead.rows[0].querySelectorAll("th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      const value = row => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows].map(row => ({ row, value: value(row) }));
      const rank = one => (one === "" || one === "–" ? 1 : 0);
      rows.sort((a, b) => rank(a.value) - rank(b.value) || (up ? 1 : -1) *
        (isNaN(a.value) || isNaN(b.value) ? a.value.localeCompare(b.value, "en", { numeric: true })
          : a.value - b.value));
      table.tBodies[0].append(...rows.map(one => one.row));
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    });
  });
}
