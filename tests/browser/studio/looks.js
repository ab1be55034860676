// What a page looks like to eyes that need contrast, and to readers that need names.

function parts(colour) {
  const found = (colour.match(/[\d.]+/g) || []).map(Number);
  const whole = colour.startsWith("color(srgb") ? found.map((v, i) => (i < 3 ? v * 255 : v)) : found;
  return [...whole, 1].slice(0, 4);
}

function over(above, below) {
  return [0, 1, 2].map((i) => above[i] * above[3] + below[i] * (1 - above[3])).concat(1);
}

function behind(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) layers.push(parts(getComputedStyle(e).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}

function light(colour) {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Texts below the contrast that WCAG AA asks for; what is disabled or hidden does not count.
function faint() {
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const seen = e.getBoundingClientRect().width && style.visibility !== "hidden";
    if (!own || !seen || e.closest("[disabled], .disabled, .skip, .hidden-label, svg")) continue;
    const base = behind(e);
    const [a, b] = [light(over(parts(style.color), base)), light(base)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
      found.push(`${e.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}, ${style.color}`);
  }
  return found;
}

// Things to press or fill in without a name for those who do not see them.
function unnamed() {
  const named = (e) =>
    e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() || e.title ||
    [...(e.labels || [])].some((label) => label.textContent.trim()) || e.closest("label")?.textContent.trim();
  const all = document.querySelectorAll("button, a, input, select, textarea, [role=button], [role=combobox]");
  return [...all]
    .filter((e) => e.getBoundingClientRect().width && e.type !== "file" && !named(e))
    .map((e) => e.outerHTML.slice(0, 160));
}
