/**
 * `<svc-call token="…" label="Call us">`: a button that opens a call in a frame. Load it with one tag:
 * `<script src="https://svc.example.com/telephony/browser/svc-call.js" async></script>`. The page's origin must be in
 * `SVC_BROWSER_ORIGINS`. See docs/browser.md.
 *
 * Attributes: `token`, of a call link; `label`, the text of the button; `server`, the address of the server, by default that of
 * this script. Events: `svc-call-started` and `svc-call-ended`.
 */
;(() => {
  const script = document.currentScript
  const ownBase = script instanceof HTMLScriptElement ? script.src.replace(/\/svc-call\.js.*$/, "") : ""

  const style = `
    :host { display: inline-block; font: 1rem/1.5 system-ui, sans-serif; }
    button { min-height: 2.75rem; padding: .5rem 1rem; border: 0; border-radius: .5rem; background: #0b6b4f; color: #fff; font: inherit; font-weight: 600; cursor: pointer; }
    :focus-visible { outline: 3px solid #1b4f9c; outline-offset: 2px; }
    dialog { position: fixed; inset: auto 1rem 1rem auto; z-index: 2147483647; width: 24rem; max-width: calc(100vw - 2rem); height: 36rem; max-height: calc(100vh - 2rem); margin: 0; padding: 0; border: 1px solid #c6ced6; border-radius: .75rem; overflow: hidden; box-shadow: 0 .5rem 2rem #0006; }
    iframe { display: block; width: 100%; height: 100%; border: 0; }
    .close { position: absolute; top: .5rem; right: .5rem; min-height: 2rem; padding: 0 .75rem; background: #16202b; }
  `

  class SvcCall extends HTMLElement {
    constructor() {
      super()
      const root = this.attachShadow({ mode: "open" })
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(style)
      root.adoptedStyleSheets = [sheet]
      this.button = document.createElement("button")
      this.button.type = "button"
      this.button.addEventListener("click", () => this.open())
      this.dialog = document.createElement("dialog")
      this.dialog.setAttribute("aria-label", "Voice call")
      /** @type {HTMLIFrameElement | undefined} */
      this.frame = undefined
      const close = document.createElement("button")
      close.type = "button"
      close.className = "close"
      close.textContent = "Close"
      close.addEventListener("click", () => this.close())
      this.dialog.append(close)
      this.dialog.addEventListener("cancel", () => this.close())
      root.append(this.button, this.dialog)
      this.onMessage = (/** @type {MessageEvent} */ { data, source }) => {
        if (this.frame === undefined || source !== this.frame.contentWindow || data?.type !== "svc-call") return
        if (data.state === "calling") this.dispatchEvent(new CustomEvent("svc-call-started", { bubbles: true }))
        if (data.state === "ended") this.dispatchEvent(new CustomEvent("svc-call-ended", { bubbles: true }))
      }
    }

    static get observedAttributes() {
      return ["label"]
    }

    attributeChangedCallback() {
      this.button.textContent = this.getAttribute("label") ?? "Call us"
    }

    connectedCallback() {
      this.attributeChangedCallback()
      addEventListener("message", this.onMessage)
    }

    disconnectedCallback() {
      removeEventListener("message", this.onMessage)
      this.close()
    }

    open() {
      if (this.frame !== undefined) return
      const base = this.getAttribute("server") ?? ownBase
      const server = base.includes("/telephony/browser") ? base : `${base.replace(/\/$/, "")}/telephony/browser`
      const frame = document.createElement("iframe")
      frame.title = "Voice call"
      frame.allow = "microphone; autoplay; speaker-selection"
      frame.src = `${server}/${encodeURIComponent(this.getAttribute("token") ?? "")}#start`
      this.frame = frame
      this.dialog.prepend(frame)
      this.dialog.show()
      frame.focus()
    }

    close() {
      if (this.frame === undefined) return
      // The frame's page hangs up when it goes.
      this.frame.remove()
      this.frame = undefined
      this.dialog.close()
      this.button.focus()
    }
  }

  if (customElements.get("svc-call") === undefined) customElements.define("svc-call", SvcCall)
})()
