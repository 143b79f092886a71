import { hashSource } from "./Html.ts"

/** Style and script of the reference page. They are inlined, so that the page loads nothing. */
export const style = `
:root { color-scheme: light dark; --ground: #fff; --raised: #f5f6f8; --line: #dfe2e8; --text: #1b1f27; --faint: #5c6575;
  --accent: #2355c7; --get: #17713c; --post: #2355c7; --patch: #8a5a00; --delete: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --raised: #1c2027; --line: #323843; --text: #e4e7ec;
  --faint: #a0a9b8; --accent: #8ab0ff; --get: #6fd495; --post: #8ab0ff; --patch: #eab65c; --delete: #ff9087; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); background: var(--ground); color: var(--text);
  font: 15px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem; background: var(--raised);
  border-right: 1px solid var(--line); }
nav input { width: 100%; padding: .45rem .6rem; margin-bottom: .5rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--ground); color: inherit; font: inherit; }
nav h2 { margin: 1rem 0 .2rem; font-size: .8rem; letter-spacing: .04em; text-transform: uppercase; color: var(--faint); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: .5rem; align-items: baseline; padding: .15rem .3rem; border-radius: 4px; color: inherit;
  text-decoration: none; font-size: .9rem; }
nav li a span:last-child { min-width: 0; overflow-wrap: anywhere; }
nav li a:hover, nav li a:focus-visible { background: var(--line); }
main { padding: 1.5rem 2.5rem 6rem; max-width: 62rem; }
h1 { margin: 0; } h2 { margin: 3rem 0 .3rem; } h3 { margin: 0; font-size: 1.1rem; } h4 { margin: 1.2rem 0 .3rem; font-size: .9rem; }
p { margin: .5rem 0; } a { color: var(--accent); } .faint { color: var(--faint); }
article { margin-top: 1rem; padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: 8px; }
.route { margin: .2rem 0; font: 14px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 3.4em; font: 700 .75rem ui-monospace, monospace; color: var(--faint); }
.get { color: var(--get); } .post { color: var(--post); } .patch, .put { color: var(--patch); } .delete { color: var(--delete); }
code, pre { font: 13px/1.5 ui-monospace, monospace; } code { padding: 0 .25em; background: var(--raised); border-radius: 4px; }
pre { margin: .4rem 0; padding: .7rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; }
pre code { padding: 0; background: none; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; } td { padding: .3rem .5rem .3rem 0; vertical-align: top;
  border-top: 1px solid var(--line); } td:first-child { white-space: nowrap; } td p { margin: 0; }
details { margin: .3rem 0; border-top: 1px solid var(--line); } summary { cursor: pointer; padding: .35rem 0; }
.status { font: 700 .85rem ui-monospace, monospace; margin-right: .6rem; } [hidden] { display: none !important; }
@media (max-width: 800px) { body { display: block; } nav { position: static; height: auto; max-height: 40vh; } main { padding: 1rem; } }
`

export const script = `
const find = document.getElementById("find"), none = document.getElementById("none")
const parts = [...document.querySelectorAll("[data-group]")].map((group) => [group, [...group.querySelectorAll("[data-words]")]])
const filter = () => {
  const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean)
  let left = 0
  for (const [group, rows] of parts) {
    let shown = 0
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.words.includes(word))
      if (!row.hidden) shown++
    }
    group.hidden = shown === 0
    left += shown
  }
  none.hidden = left > 0
}
find.addEventListener("input", filter)
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== find) { event.preventDefault(); find.focus() }
  if (event.key === "Escape" && document.activeElement === find) { find.value = ""; filter(); find.blur() }
})
`

/** The page's Content-Security-Policy: its own style and script by their hashes, and nothing else from anywhere. */
export const policy = `default-src 'none'; style-src ${hashSource(style)}; script-src ${hashSource(script)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
