import { hashSource, html } from "./Html.ts"

/** A link: what it says, and its path. */
export type Link = readonly [text: string, href: string]

/** Colors for both schemes, and the bar at the top. */
export const look = `
:root { color-scheme: light dark; --ground: #fff; --raised: #f5f6f8; --line: #dfe2e8; --text: #1b1f27; --faint: #5c6575; --accent: #2355c7; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --raised: #1c2027; --line: #323843; --text: #e4e7ec; --faint: #a0a9b8; --accent: #8ab0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
.bar { display: flex; gap: 1.2rem; align-items: center; padding: 0 1.2rem; height: 2.75rem; overflow-x: auto; white-space: nowrap;
  background: var(--raised); border-bottom: 1px solid var(--line); font-size: 15px; }
.bar a { color: var(--text); text-decoration: none; } .bar a:hover, .bar a:focus-visible { text-decoration: underline; }
.bar a:first-child { font-weight: 700; }
`

const style = `${look}
.body { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 76rem; margin: 0 auto; }
.body > nav { grid-column: 1; grid-row: 1; padding: 1.2rem; border-right: 1px solid var(--line); font-size: .9rem; }
.body > nav ul { list-style: none; margin: 0 0 1rem; padding: 0; } .body > nav h2 { margin: 0 0 .3rem; font-size: .8rem; color: var(--faint); }
.body > nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none; } .body > nav a:hover { text-decoration: underline; }
.body > nav a[aria-current] { color: var(--accent); font-weight: 600; }
main { padding: 1.2rem 2rem 5rem; max-width: 56rem; min-width: 0; overflow-wrap: break-word; } main.alone { margin: 0 auto; }
h1 { margin: .5rem 0 1rem; line-height: 1.2; } h2 { margin: 2.4rem 0 .6rem; } h3 { margin: 1.8rem 0 .4rem; } p, ul, ol { margin: .7rem 0; }
h1, h2, h3, h4 { scroll-margin-top: 1rem; } main a { color: var(--accent); } h2 a.here, h3 a.here, h4 a.here { color: inherit; text-decoration: none; }
h2 a.here:hover::after, h3 a.here:hover::after, h4 a.here:hover::after { content: " #"; color: var(--faint); }
.faint { color: var(--faint); } img { max-width: 100%; height: auto; }
code, pre { font: 14px/1.5 ui-monospace, monospace; } code { padding: .1em .3em; background: var(--raised); border-radius: 4px; }
pre { padding: .8rem 1rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; } pre code { padding: 0; background: none; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; } td, th { padding: .4rem .8rem .4rem 0; text-align: left;
  vertical-align: top; border-top: 1px solid var(--line); } th:empty { padding: 0; } td { min-width: 6rem; } td code { overflow-wrap: normal; }
.right { text-align: right; } .center { text-align: center; }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--faint); }
@media (max-width: 800px) { .body { display: block; } .body > nav { border: 0; border-top: 1px solid var(--line); } main { padding: 1rem 1.2rem 4rem; } }
`

/** The policy of a page without scripts: its own style by its hash, and pictures of this server. */
export const policy = `default-src 'none'; style-src ${hashSource(style)}; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const anchor = ([text, href]: Link): string => `<a href="${html(href)}">${html(text)}</a>`

/** The links at the top of every page. */
export const topBar = (links: ReadonlyArray<Link>): string =>
  `<header class="bar">${links.map(anchor).join("")}</header>`

/** A list of links with a heading; `current` is the path of the page that contains it. */
export const linkList = (heading: string, links: ReadonlyArray<Link>, current: string): string =>
  `<h2>${html(heading)}</h2><ul>${links
    .map(
      ([text, href]) =>
        `<li><a href="${html(href)}"${href === current ? ' aria-current="page"' : ""}>${html(text)}</a></li>`
    )
    .join("")}</ul>`

/** The start page, both references and the OpenAPI documents. */
export const siteLinks: ReadonlyArray<Link> = [
  ["Svc", "/"],
  ["Voice API", "/docs"],
  ["Workspace API", "/docs/workspace"],
  ["Guides", "/#guides"]
]

/** A page without scripts. `main` and `nav` are HTML; without `nav` there is one column. */
export const page = (title: string, main: string, nav?: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body>${topBar(siteLinks)}
${nav === undefined ? `<main class="alone">${main}</main>` : `<div class="body"><main>${main}</main><nav aria-label="Guides">${nav}</nav></div>`}
</body></html>
`
