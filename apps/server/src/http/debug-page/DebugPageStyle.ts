import { hashSource } from "../documents/Html.ts"

/** Style and script of the debug page. They are inlined, so that the page loads nothing. */
export const style = `
:root { color-scheme: light dark; --ground: #fff; --raised: #f5f6f8; --line: #dfe2e8; --text: #1b1f27; --faint: #5c6575;
  --caller: #8a5a00; --agent: #2355c7; --model: #6d3fc0; --tool: #17713c; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --raised: #1c2027; --line: #323843; --text: #e4e7ec;
  --faint: #a0a9b8; --caller: #eab65c; --agent: #8ab0ff; --model: #c3a3ff; --tool: #6fd495; --bad: #ff9087; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.2rem 1.2rem 5rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.3rem; overflow-wrap: anywhere; } h2 { margin: 2rem 0 .4rem; font-size: 1.05rem; }
.faint { color: var(--faint); } .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .6rem; margin: 1rem 0; }
dl div { padding: .4rem .6rem; background: var(--raised); border-radius: 6px; } dt { font-size: .8rem; color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
ol { list-style: none; margin: 0; padding: 0; } li { display: grid; grid-template-columns: 5rem 4.5rem minmax(0, 1fr);
  gap: 0 .6rem; padding: .25rem 0; border-top: 1px solid var(--line); }
time { font: 13px/1.6 ui-monospace, monospace; color: var(--faint); text-align: right; }
.who { font-size: .8rem; line-height: 1.9; color: var(--faint); } .caller { color: var(--caller); } .agent, .assistant { color: var(--agent); }
.user { color: var(--caller); } .model { color: var(--model); } .tool, .server, .knowledge { color: var(--tool); }
.what { overflow-wrap: anywhere; } summary { cursor: pointer; }
pre { margin: .3rem 0; padding: .6rem; overflow-x: auto; background: var(--raised); border-radius: 6px; font: 12px/1.45 ui-monospace, monospace; }
svg { display: block; width: 100%; height: 1.1rem; } .s1 { fill: var(--faint); } .s2 { fill: var(--model); } .s3 { fill: var(--agent); } .s4 { fill: var(--tool); } .s5 { fill: var(--caller); }
.turn { display: grid; grid-template-columns: 4rem minmax(0, 1fr) 6rem; gap: .6rem; align-items: center; padding: .2rem 0; }
.turn span:last-child { text-align: right; font: 13px ui-monospace, monospace; }
.key span { margin-right: 1rem; } .key svg { display: inline-block; width: .8rem; height: .8rem; vertical-align: -1px; }
audio { display: block; width: 100%; margin: .8rem 0; } h3 { margin: .6rem 0 0; font-size: .8rem; font-weight: 600; color: var(--faint); }
@media (max-width: 600px) { li { grid-template-columns: 4rem minmax(0, 1fr); } .who { grid-column: 2; } .what { grid-column: 2; } }
`

/** Replaces the content by what the server sends; open details stay open. */
export const script = `
const main = document.querySelector("main")
if (main.dataset.live === "yes") {
  const source = new EventSource(location.pathname.replace(/\\/$/, "") + "/live")
  source.onmessage = ({ data }) => {
    const open = new Set([...main.querySelectorAll("details[open]")].map(({ id }) => id))
    const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 40
    main.innerHTML = JSON.parse(data)
    for (const id of open) document.getElementById(id)?.setAttribute("open", "")
    if (atEnd) scrollTo(0, document.body.scrollHeight)
  }
  source.addEventListener("over", () => source.close())
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return
    const notice = document.getElementById("notice")
    notice.textContent = "No live updates: the link has ended, or 20 pages use it already. Close one and load this page again, or get a new link."
    notice.hidden = false
  }
}
`

/** The page's Content-Security-Policy: its own style and script by their hashes, its own stream, and nothing else. */
export const policy = `default-src 'none'; style-src ${hashSource(style)}; script-src ${hashSource(script)}; connect-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
