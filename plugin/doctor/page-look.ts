import { createHash } from 'node:crypto'

/**
 * The page's script: colour scheme, times in the user's time zone, and copy buttons. MeshCentral stores the scheme in
 * the browser (1 dark, 2 light), and a domain can override it. Without the script, times are in UTC, and buttons are
 * missing.
 */
export const SCRIPT = `
const root = document.documentElement
const chosen = () => {
  try { return { 1: 'night', 2: 'day' }[localStorage.getItem('nightMode')] } catch { return undefined }
}
const settled = root.dataset.look
const dress = () => { root.dataset.look = settled || chosen() || '' }
dress()
addEventListener('storage', dress)
if ('reload' in root.dataset) setTimeout(() => location.reload(), 2000)
const copy = async (button) => {
  const field = document.getElementById(button.dataset.copy)
  field.select()
  try { await navigator.clipboard.writeText(field.value) } catch { document.execCommand('copy') }
  button.textContent = 'Copied'
  setTimeout(() => { button.textContent = 'Copy' }, 2000)
}
addEventListener('DOMContentLoaded', () => {
  for (const time of document.querySelectorAll('time')) time.textContent = new Date(time.dateTime).toLocaleString()
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false
    button.addEventListener('click', () => copy(button))
  }
})
`

/** The page's style, in the colours of MeshCentral's own pages. */
export const STYLE = `
:root { color-scheme: light dark; --back: light-dark(#fff, #000); --text: light-dark(#000, #bbb);
  --soft: light-dark(#eee, #222); --line: light-dark(#b7b7b7, #444); --link: light-dark(#036, #8bf);
  --ok: light-dark(#060, #6c6); --warn: light-dark(#850, #db5); --fail: light-dark(#a00, #f77) }
:root[data-look=night] { color-scheme: dark }
:root[data-look=day] { color-scheme: light }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 960px; padding: 12px 16px 32px; background: var(--back); color: var(--text);
  font: 14px/1.5 'Trebuchet MS', Arial, Helvetica, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 22px; margin: 4px 0 12px } h2 { font-size: 16px; margin: 28px 0 8px }
code { font-family: ui-monospace, monospace; background: var(--soft); padding: 0 3px }
dl { margin: 0; display: grid; grid-template-columns: 150px 1fr; gap: 6px 12px } dt { font-weight: bold } dd { margin: 0 }
.address { margin: 0 0 10px } .address label { display: block; font-weight: bold }
.row { display: flex; gap: 6px } .row input { flex: 1; min-width: 0 }
input, button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line); padding: 5px 8px }
button { cursor: pointer } button:disabled { cursor: default; opacity: .6 }
:focus-visible { outline: 2px solid var(--link) }
ul { list-style: none; margin: 0; padding: 0 } li { border-top: 1px solid var(--line); padding: 8px 0 }
.ok { color: var(--ok) } .warn { color: var(--warn) } .fail { color: var(--fail) }
.verdict, .level { font-weight: bold; text-transform: uppercase; margin-right: 6px }
.quiet { opacity: .8 }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px } .pair dl { grid-template-columns: 1fr; gap: 0 }
.pair dd { margin-bottom: 8px } h3 { font-size: 14px; margin: 0 0 6px }
@media (max-width: 560px) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: 8px } }
`

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * The page's Content Security Policy. It allows only this script and this style, and only pages of this server may show
 * the page in a frame.
 */
export const POLICY = [
  "default-src 'none'",
  `script-src ${digest(SCRIPT)}`,
  `style-src ${digest(STYLE)}`,
  "form-action 'self'",
  "frame-ancestors 'self'",
  "base-uri 'none'",
].join('; ')
