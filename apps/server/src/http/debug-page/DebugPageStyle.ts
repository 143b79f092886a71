import { hashSource } from "../documents/Html.ts"

/** Style and script of the debug page. They are inlined, so that the page loads nothing. */
export const style = `
:root { color-scheme: light dark; --ground: #fff; --raised: #f5f6f8; --line: #dfe2e8; --text: #1b1f27; --faint: #5c6575;
  --caller: #8a5a00; --agent: #2355c7; --model: #6d3fc0; --tool: #17713c; --bad: #b3261e; --alarm: #fdeceb; --care: #fff6e0; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --raised: #1c2027; --line: #323843; --text: #e4e7ec;
  --faint: #a0a9b8; --caller: #eab65c; --agent: #8ab0ff; --model: #c3a3ff; --tool: #6fd495; --bad: #ff9087; --alarm: #33191a;
  --care: #2b2413; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.2rem 1.2rem 5rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.35rem; overflow-wrap: anywhere; } h2 { margin: 1.8rem 0 .4rem; font-size: 1.05rem; }
h1 .mark { margin-left: .4rem; font-size: .95rem; white-space: nowrap; vertical-align: .1rem; }
.id { margin: .2rem 0 .6rem; color: var(--faint); overflow-wrap: anywhere; } code { font: 13px ui-monospace, monospace; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0; }
button, .button { font: inherit; font-size: .9rem; text-decoration: none; padding: .35rem .8rem; color: var(--text); background: var(--raised);
  border: 1px solid var(--faint); border-radius: 6px; cursor: pointer; }
button:hover, .button:hover { border-color: var(--agent); } :focus-visible { outline: 2px solid var(--agent); outline-offset: 2px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.faint { color: var(--faint); font-size: .9rem; } .bad { color: var(--bad); } .good { color: var(--tool); } .busy { color: var(--agent); }
.mark { font-weight: 600; font-size: .9rem; }
.cause, .warnings { margin: 1rem 0; padding: .2rem 1rem .6rem; border-radius: 8px; border-left: 4px solid var(--bad); background: var(--alarm); }
.cause h2, .warnings h2 { margin-top: .6rem; } .cause h2 { color: var(--bad); font-size: 1.15rem; } .cause p { margin: .3rem 0; overflow-wrap: anywhere; }
.reason { font: 14px/1.5 ui-monospace, monospace; }
.warnings { border-color: var(--caller); background: var(--care); } .warnings h2 { color: var(--caller); }
.columns { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 3fr); gap: 0 2.5rem; }
dl { margin: 0; } dl div { display: grid; grid-template-columns: 7rem minmax(0, 1fr); gap: .6rem; padding: .3rem 0; border-top: 1px solid var(--line); }
dt { color: var(--faint); overflow-wrap: anywhere; } dd { margin: 0; overflow-wrap: anywhere; }
ol { list-style: none; margin: 0; padding: 0; } li { display: grid; grid-template-columns: 5rem 4.5rem minmax(0, 1fr);
  gap: 0 .6rem; padding: .3rem 0; border-top: 1px solid var(--line); }
.plain { grid-template-columns: 5rem minmax(0, 1fr); } .warnings li, .turn-caller, .turn-agent { grid-template-columns: 3.2rem minmax(0, 1fr); }
time { font: 13px/1.75 ui-monospace, monospace; color: var(--faint); text-align: right; }
.who { font-size: .85rem; line-height: 1.75; color: var(--faint); } .caller { color: var(--caller); } .agent { color: var(--agent); }
.turn-caller .who, .turn-agent .who { font-weight: 600; } .model { color: var(--model); } .tool, .server, .knowledge { color: var(--tool); }
.what { overflow-wrap: anywhere; } summary { cursor: pointer; }
pre { margin: .3rem 0; padding: .6rem; overflow-x: auto; background: var(--raised); border-radius: 6px; font: 12px/1.45 ui-monospace, monospace; }
svg { display: block; width: 100%; height: 1.1rem; } .s1 { fill: var(--faint); } .s2 { fill: var(--model); } .s3 { fill: var(--agent); } .s4 { fill: var(--tool); } .s5 { fill: var(--caller); }
.turn { display: grid; grid-template-columns: 5rem minmax(0, 1fr) 5rem; gap: .6rem; align-items: center; padding: .2rem 0; }
.turn span:last-child { text-align: right; font: 13px ui-monospace, monospace; }
.key span { display: inline-block; margin-right: 1rem; } .key svg { display: inline-block; width: .8rem; height: .8rem; vertical-align: -1px; }
audio { display: block; width: 100%; margin: .4rem 0; } h3 { margin: .6rem 0 0; font-size: .85rem; font-weight: 600; color: var(--faint); }
@media (max-width: 700px) { body { padding: .9rem .9rem 4rem; } .columns { grid-template-columns: minmax(0, 1fr); }
  li { grid-template-columns: 4.4rem minmax(0, 1fr); } li:not(.turn-caller, .turn-agent) > .who { font-weight: 600; } li > .what { grid-column: 2; }
  .warnings li, .turn-caller, .turn-agent { grid-template-columns: 2.9rem minmax(0, 1fr); } dl div { grid-template-columns: 6.2rem minmax(0, 1fr); } }
`

/**
 * Replaces the content by what the server sends: open details stay open, and the focus stays. Buttons copy a text, or save
 * it as a file.
 */
export const script = `
const main = document.querySelector("main")
const say = (text) => {
  const done = document.getElementById("done")
  if (done !== null) done.textContent = text
}
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand("copy")
    area.remove()
  }
  say("Copied.")
}
const save = (name, text) => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
  say("Saved as " + name + ".")
}
document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button") : null
  if (button === null) return
  if (button.dataset.copy !== undefined) copy(button.dataset.copy)
  if (button.dataset.save !== undefined) save(button.dataset.save, button.dataset.text)
})
if (main.dataset.live === "yes") {
  const source = new EventSource(location.pathname.replace(/\\/$/, "") + "/live")
  const focusable = "button, summary, audio"
  source.onmessage = ({ data }) => {
    const open = new Set([...main.querySelectorAll("details[open]")].map(({ id }) => id))
    const focused = document.activeElement
    const place = focused instanceof Element && main.contains(focused) ? [...main.querySelectorAll(focusable)].indexOf(focused) : -1
    const within = focused instanceof Element ? focused.closest("details")?.id : undefined
    const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 40
    main.innerHTML = JSON.parse(data)
    for (const id of open) document.getElementById(id)?.setAttribute("open", "")
    const again = within ? document.getElementById(within)?.querySelector("summary") : place < 0 ? null : main.querySelectorAll(focusable)[place]
    again?.focus({ preventScroll: true })
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
