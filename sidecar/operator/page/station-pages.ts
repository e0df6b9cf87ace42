import type { DeviceReport, MessageReport, StationSummary } from '../../messages/reports/station-reports.ts'
import { count, counted, dateTime, duration } from './format.ts'
import { type Html, html } from './html.ts'
import { STYLE } from './style.ts'

/**
 * A page of the list of stations. `next`: the last station of this page, after which the next page begins; null on the
 * last page.
 */
export interface ListedStations {
  readonly stations: readonly StationSummary[]
  readonly next: string | null
}

/** A station as its page shows it. Instead of a whole push token, it has only the end. */
export interface ShownStation {
  readonly station: string
  readonly avatarHash: string
  readonly devices: readonly ShownDevice[]
  readonly messages: readonly MessageReport[]
}

type ShownDevice = Omit<DeviceReport, 'pushToken'> & { readonly token: string }

/** Renders a page of the list of stations. */
export function renderStationList({ stations, next }: ListedStations, now: number): string {
  const rows = stations.map(
    ({ station, devices, lastSeenAt, pending }) =>
      html`<tr><th scope="row"><a href="/view/${station}">${station}</a></th><td>${count(devices)}</td><td>${duration(now - lastSeenAt)} ago</td><td>${count(pending)}</td></tr>`,
  )
  const table = html`<div class="card scroll" role="region" aria-label="Stations" tabindex="0"><table>
<thead><tr><th scope="col">Station</th><th scope="col">Devices</th><th scope="col">Last heartbeat</th><th scope="col">Pending notifications</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`
  return page(
    'Stations',
    html`Every station has a page of its own, at <code>/view/CALL</code>`,
    html`${stations.length === 0 ? html`<div class="card none">No station.</div>` : table}
${next === null ? undefined : html`<p><a href="/view?after=${next}">Stations after ${next}</a></p>`}`,
    now,
  )
}

/** Renders the page of one station. It never shows the text of a message. */
export function renderStationPage({ station, avatarHash, devices, messages }: ShownStation, now: number): string {
  return page(
    station,
    html`${counted(devices.length, 'device')} · avatar: ${avatarHash === '' ? 'none' : html`<code>${avatarHash}</code>`} · <a href="/view/${station}">Refresh</a>`,
    html`<h2>Devices</h2>
<div class="card scroll" role="region" aria-label="Devices" tabindex="0"><table>
<thead><tr><th scope="col">Platform</th><th scope="col">Token</th><th scope="col">Wants acks</th><th scope="col">Registered (UTC)</th><th scope="col">Last heartbeat (UTC)</th><th scope="col">Pending</th><th scope="col">Last push</th></tr></thead>
<tbody>${devices.map((device) => deviceRow(device, now))}</tbody>
</table></div>
<h2>Messages, newest first</h2>
${messageTable(messages)}`,
    now,
  )
}

function deviceRow(device: ShownDevice, now: number): Html {
  const { platform, token, tokenDead, ackMessages, registeredAt, lastSeenAt, pending } = device
  return html`<tr><th scope="row">${platform}</th><td><code>…${token}</code> ${
    tokenDead ? html`<span class="down">dead</span>` : html`<span class="up">alive</span>`
  }</td><td>${ackMessages ? 'yes' : 'no'}</td><td class="fit">${time(registeredAt)}</td><td class="fit">${time(lastSeenAt)} <span class="soft">(${duration(now - lastSeenAt)} ago)</span></td><td>${count(pending)}</td><td>${lastPush(device)}</td></tr>`
}

function lastPush({ lastPush: result }: ShownDevice): Html {
  if (result === null) return html`–`
  const { at, outcome, reason } = result
  return html`<span class="${outcome === 'accepted' ? 'up' : 'down'}">${outcome}</span> <span class="soft">${time(at)}</span>${reason === null ? undefined : html` ${reason}`}`
}

function messageTable(messages: readonly MessageReport[]): Html {
  if (messages.length === 0) return html`<div class="card none">No messages are stored for this station.</div>`
  const rows = messages.map(
    ({ from, to, seqId, time: stamp, ackedAt }) =>
      html`<tr><td class="fit">${time(stamp)}</td><td>${from}</td><td>${to}</td><td>${seqId === '' ? '–' : seqId}</td><td class="fit">${ackedAt === null ? 'no' : time(ackedAt)}</td><td class="fit"><code>${stamp}</code></td></tr>`,
  )
  return html`<div class="card scroll" role="region" aria-label="Messages" tabindex="0"><table>
<thead><tr><th scope="col">Stored (UTC)</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Number</th><th scope="col">Acknowledged (UTC)</th><th scope="col">Stamp</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`
}

function time(ms: number): Html {
  return html`<time datetime="${new Date(ms).toISOString()}">${dateTime(ms)}</time>`
}

function page(title: string, lead: Html, body: Html, now: number): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – APRS sidecar</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${title} <small>${lead}</small></h1>
<p class="soft">As of ${time(now)} UTC · <a href="/">Status</a> · <a href="/view">Stations</a></p>
</header>
<main>
${body}
</main>
</body>
</html>
`.text
}
