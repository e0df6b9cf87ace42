import { createHash } from 'node:crypto'
import { Html } from './html.ts'

// In both colour schemes, the contrast is at least 4.5:1 for text and 3:1 for graphics. No meaning is shown by colour
// alone.
const CSS = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --ground: #f0f2f5; --line: #d3d9df; --accent: #1f6feb; --main: #123f86; --bad: #b3261e; --warn: #8a5300; --good: #1a6b35; --tint: #eaf4ec; --bad-tint: #fdecea }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9edf1; --soft: #a3adb8; --paper: #161b22; --ground: #0d1117; --line: #30363d; --accent: #58a6ff; --main: #b4d7ff; --bad: #ff8d85; --warn: #e3b341; --good: #63d188; --tint: #12261a; --bad-tint: #2d1513 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem }
header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1.5rem; padding-top: 1.5rem }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25 }
h1 small { display: block; font-size: .9375rem; font-weight: 400; color: var(--soft) }
h2 { margin: 2rem 0 .75rem; font-size: 1.125rem }
h3 { margin: 0; font-size: 1rem }
p { margin: 0 }
a { color: inherit }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.soft { color: var(--soft) }
.state { display: flex; gap: .75rem; margin-top: 1.25rem; padding: .875rem 1.125rem; background: var(--tint); border: 1px solid var(--good); border-left-width: .375rem; border-radius: .5rem }
.state .mark { white-space: nowrap; color: var(--good); font-weight: 700 }
.state.off { background: var(--bad-tint); border-color: var(--bad) }
.state.off .mark { color: var(--bad) }
.state ul { margin: 0; padding: 0; list-style: none }
.card { margin: 0; padding: 1rem 1.125rem; background: var(--paper); border: 1px solid var(--line); border-radius: .5rem }
.grid { display: grid; gap: 1rem }
.tiles { grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); margin-top: 1rem }
.tile dt { color: var(--soft); font-size: .875rem }
.tile dd { margin: 0 }
.tile .big { font-size: 1.75rem; font-weight: 650; line-height: 1.25 }
@media (max-width: 40rem) { header, main, footer { padding-right: .75rem; padding-left: .75rem } .state { flex-direction: column; gap: 0 } }
svg { display: block; width: 100%; height: auto }
.bar { fill: var(--main) }
.totals > div { display: grid; grid-template-columns: 13rem repeat(3, minmax(8rem, 10rem)); gap: .125rem 1.25rem }
.totals > div + div { margin-top: .25rem }
.totals dt { font-weight: 600 }
.totals dd { display: flex; justify-content: space-between; gap: .5rem; margin: 0; color: var(--soft) }
.totals b { color: var(--ink) }
@media (max-width: 52rem) { .totals > div { grid-template-columns: 1fr } .totals > div + div { margin-top: .75rem } }
.room { height: .75rem; margin: .75rem 0 .5rem; border: 1px solid var(--soft); border-radius: .375rem }
.room .track { fill: var(--paper) }
.scroll { overflow-x: auto; padding: 0 }
table { width: 100%; border-collapse: collapse; font-size: .9375rem }
th, td { padding: .625rem 1.125rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
tbody tr:last-child > * { border-bottom: 0 }
thead th { font-size: .8125rem; font-weight: 600; color: var(--soft); white-space: nowrap }
td.fit { white-space: nowrap }
tbody th { font-weight: 600; white-space: nowrap }
code { font: .875em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
td code { color: var(--soft) }
.level { font-weight: 650; white-space: nowrap }
.level.error, .down { color: var(--bad) }
.level.warn { color: var(--warn) }
.up { color: var(--good) }
.none { padding: 1rem 1.125rem; color: var(--soft) }
.gateways { grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)) }
.gateway dl { display: grid; grid-template-columns: max-content 1fr; gap: .125rem 1rem; margin: .5rem 0 0 }
.gateway dt { color: var(--soft) }
.gateway dd { margin: 0; overflow-wrap: anywhere }
.events { padding: 0; list-style: none; font-size: .9375rem }
.events li { padding: .625rem 1.125rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
.events li:last-child { border-bottom: 0 }
.facts { color: var(--soft) }
.facts b { color: var(--ink); font-weight: 600 }
@media (min-width: 56rem) { .events li { display: flex; flex-direction: row-reverse; justify-content: flex-end; gap: 1.5rem } .facts { flex: 0 0 17rem } .facts time { display: block } }
footer { margin-top: 2rem; padding-bottom: 2rem; font-size: .875rem; color: var(--soft) }
`

export const STYLE = new Html(CSS)

/** Interval at which the status page reloads itself, in seconds. */
export const REFRESH_S = 30
const RELOAD = `setTimeout(() => location.reload(), ${REFRESH_S}000)`
export const SCRIPT = new Html(RELOAD)

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Content security policy of the pages. It allows only their style sheet and their script. */
export const POLICY = [
  "default-src 'none'",
  `style-src ${digest(CSS)}`,
  `script-src ${digest(RELOAD)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
