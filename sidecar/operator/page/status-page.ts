import { FLAPPING_DROPS, LIKELY_CAUSE_OF_FLAPPING } from '../../aprsis/connection/recent-drops.ts'
import { STORE_FAULTS, type StoreErrorCode } from '../../errors.ts'
import type { Platform } from '../../messages/store.ts'
import type { RecentEvent } from '../watch/recent-events.ts'
import { bytes, count, counted, dateTime, duration } from './format.ts'
import { renderGateways } from './gateways.ts'
import { type Html, html } from './html.ts'
import { renderInstances } from './instances.ts'
import { OBSTACLES } from './obstacles.ts'
import type { Counts, Status } from './status.ts'
import { REFRESH_S, SCRIPT, STYLE } from './style.ts'
import { renderListeners, type UpstreamConnection } from './upstream.ts'

/**
 * Renders the status page, which shows what works, what fails, and how busy the sidecar is. `refresh`: whether the page
 * reloads itself.
 */
export function renderStatusPage(status: Status, refresh: boolean): string {
  const { version, callsign, now, startedAt } = status
  const state = stateOf(status)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${state.word} – ${callsign} – APRS sidecar</title>
<style>${STYLE}</style>
${refresh ? html`<script>${SCRIPT}</script>` : undefined}
</head>
<body>
<header>
<h1>APRS sidecar <small>${callsign} · version ${version} · up for ${duration(now - startedAt)}</small></h1>
<p class="soft">As of ${time(now)} UTC · ${
    refresh
      ? html`<noscript>This browser runs no scripts: <a href="/">refresh</a> by hand. With scripts the page </noscript>refreshes every ${REFRESH_S} s · <a href="/?refresh=off">Stop refreshing</a>`
      : html`<a href="/">Refresh every ${REFRESH_S} s</a>`
  }</p>
</header>
<main>
${state.banner}
${tiles(status)}
<h2>Since the start${status.shared && ` of ${status.shared.ownName}, this instance alone`}</h2>
${totals(status.counts)}
<h2>Push gateways</h2>
${renderGateways(status.gateways, now)}
<h2>APRS-IS</h2>
${renderListeners(status.upstream)}
${status.upstream.listener === null ? undefined : upstream(status)}
${
  status.shared &&
  html`<h2>Instances</h2>
${renderInstances(status.shared, now)}`
}
<h2>Warnings and errors</h2>
${events(status.events)}
</main>
<footer><p>Also here: <a href="/metrics">/metrics</a> for Prometheus, <a href="/readyz">/readyz</a> and <a href="/healthz">/healthz</a> for probes.</p></footer>
</body>
</html>
`.text
}

function time(ms: number): Html {
  return html`<time datetime="${new Date(ms).toISOString()}">${dateTime(ms)}</time>`
}

/** Returns the banner at the top of the page, and the word that begins the page's title. */
function stateOf({ obstacles, storeFault, gateways, upstream }: Status): {
  readonly word: string
  readonly banner: Html
} {
  const refusals = gateways.flatMap(({ state, lastRefused }) => (state === 'refusing' && lastRefused) || [])
  const flapping = upstream.connections.filter(({ recentDrops }) => recentDrops >= FLAPPING_DROPS)
  const drops = flapping.map(
    ({ callsign, recentDrops }) =>
      html`<li>APRS-IS ended the login of ${callsign} ${count(recentDrops)} times within 15 minutes. ${LIKELY_CAUSE_OF_FLAPPING}</li>`,
  )
  const lines = [
    ...obstacles.map(
      (code) =>
        html`<li>${OBSTACLES[code]}${code === 'messages_not_stored' ? reasonOf(storeFault) : undefined} <code>${code}</code></li>`,
    ),
    ...refusals.map(({ reason }) => html`<li>A push gateway refused the last notification: ${reason}.</li>`),
    ...drops,
  ]
  if (obstacles.length > 0) return { word: 'Not ready', banner: red('Not ready', lines) }
  if (lines.length === drops.length && drops.length > 0)
    return { word: 'APRS-IS drops the login', banner: red('APRS-IS drops the login', lines) }
  if (lines.length > 0) return { word: 'Pushes refused', banner: red('Pushes are refused', lines) }
  const listening =
    upstream.listener === null
      ? 'Other instances listen to APRS-IS.'
      : 'An APRS-IS server has confirmed a filter with every station.'
  const banner = html`<div class="state"><p><span class="mark">✓ Ready.</span> ${listening}</p></div>`
  return { word: 'Ready', banner }
}

function isFault(code: string): code is StoreErrorCode {
  return Object.hasOwn(STORE_FAULTS, code)
}

/** Returns why the store accepts no writes, and what the operator should do. */
function reasonOf(fault: string | undefined): Html | undefined {
  if (fault === undefined || !isFault(fault)) return undefined
  const { what, remedy } = STORE_FAULTS[fault]
  return html` ${what} ${remedy}`
}

function red(mark: string, lines: readonly Html[]): Html {
  return html`<div class="state off"><p class="mark">✗ ${mark}.</p><ul>${lines}</ul></div>`
}

function tiles(status: Status): Html {
  const { stations, devices, maxStations, gateways, pushesUnderWay, databaseBytes, memoryBytes, counts } = status
  const isOn = (platform: Platform) => gateways.some((gateway) => gateway.platform === platform)
  const off = (platform: Platform) => (isOn(platform) ? undefined : html` (push off)`)
  // Web Push devices are shown only if there are any, because most servers have none.
  const webPushText = devices.webpush === 0 ? undefined : html` · ${count(devices.webpush)} Web Push${off('webpush')}`
  return html`<dl class="grid tiles">
<div class="card tile"><dt>Stations</dt><dd><span class="big">${count(stations)}</span> of ${count(maxStations)}</dd>
<dd><a href="/view">Each station</a></dd>
<dd>${registryBar(status)}<span class="soft">Devices: ${count(devices.android)} Android${off('android')} · ${count(devices.ios)} iOS${off('ios')}${webPushText}</span></dd></div>
<div class="card tile"><dt>Messages stored</dt><dd class="big">${count(counts.messages_stored)}</dd><dd class="soft">${
    status.lastPacketAt === undefined
      ? 'no packet yet'
      : `last packet ${duration(status.now - status.lastPacketAt)} ago`
  }${status.upstream.paused ? ' · reading waits for the database' : ''}</dd></div>
<div class="card tile"><dt>Notifications accepted</dt><dd class="big">${count(counts.pushes_accepted)}</dd><dd class="soft">${count(pushesUnderWay)} being sent</dd></div>
<div class="card tile"><dt>Database</dt><dd class="big">${bytes(databaseBytes)}</dd><dd class="soft">${backupOf(status)} · ${bytes(memoryBytes)} of memory in use</dd></div>
${freeSpace(status)}
${certificate(status)}
</dl>`
}

function freeSpace({ diskFreeBytes }: Status): Html | undefined {
  if (Number.isNaN(diskFreeBytes)) return undefined
  const isScarce = diskFreeBytes < SCARCE_DISK_BYTES
  return html`<div class="card tile"><dt>Free space</dt><dd class="big${isScarce ? ' down' : ''}">${bytes(diskFreeBytes)}</dd><dd class="soft">${
    isScarce ? 'low: free some before messages are lost' : 'on the disk of the database'
  }</dd></div>`
}

function certificate({ certificateExpiresAt, now }: Status): Html | undefined {
  if (certificateExpiresAt === undefined) return undefined
  const remainingMs = certificateExpiresAt - now
  const isUrgent = remainingMs < URGENT_CERTIFICATE_MS
  const remaining = remainingMs > 0 ? `${count(Math.floor(remainingMs / DAY_MS))} days` : 'expired'
  return html`<div class="card tile"><dt>Certificate</dt><dd class="big${isUrgent ? ' down' : ''}">${remaining}</dd><dd class="soft">${
    isUrgent ? 'renew it · ' : undefined
  }until ${time(certificateExpiresAt)}</dd></div>`
}

function backupOf({ lastBackupAt, now }: Status): string {
  if (lastBackupAt === 'off') return 'no backups'
  return lastBackupAt === undefined ? 'no backup yet' : `backup ${duration(now - lastBackupAt)} ago`
}

const DAY_MS = 86_400_000
/**
 * Limits below which the status page shows red, as in the alerts SidecarDiskNearlyFull and SidecarCertificateExpires.
 */
const SCARCE_DISK_BYTES = 200e6
const URGENT_CERTIFICATE_MS = 14 * DAY_MS

const BAR_WIDTH = 200

/** Renders a bar that shows how full the registry is. The page also shows these figures as text. */
function registryBar({ stations, maxStations }: Status): Html {
  const width = Math.min(BAR_WIDTH, Math.round((stations / maxStations) * BAR_WIDTH * 10) / 10)
  return html`<svg class="room" aria-hidden="true" viewBox="0 0 ${BAR_WIDTH} 8" preserveAspectRatio="none"><rect class="track" width="${BAR_WIDTH}" height="8"/><rect class="bar" width="${width}" height="8"/></svg>`
}

/** Renders the totals since the start. The Grafana dashboard of the package shows how they develop over time. */
function totals(counts: Counts): Html {
  const rows: readonly (readonly [what: string, ...numbers: readonly (readonly [label: string, count: number])[]])[] = [
    ['Packets from APRS-IS', ['received', counts.lines_received]],
    [
      'Messages',
      ['stored', counts.messages_stored],
      ['repeated', counts.messages_duplicate],
      ['lost', counts.messages_lost],
    ],
    [
      'Notifications',
      ['accepted', counts.pushes_accepted],
      ['tried again', counts.pushes_retried],
      ['failed', counts.pushes_refused + counts.pushes_given_up],
    ],
    [
      'API requests',
      // `api_requests` counts each request on arrival. So a request that an endpoint drops is in both `answered` and
      // `dropped`.
      ['answered', Math.max(0, counts.api_requests - counts.api_errors)],
      ['refused', counts.api_errors],
      ['dropped', counts.api_dropped],
    ],
  ]
  return html`<dl class="card totals">${rows.map(
    ([what, ...numbers]) =>
      html`<div><dt>${what}</dt>${numbers.map(([label, number]) => html` <dd>${label} <b>${count(number)}</b></dd>`)}</div>`,
  )}</dl>`
}

function upstream({ upstream: { connections, leftOut }, now }: Status): Html {
  const overflow =
    leftOut === 0
      ? undefined
      : html`<p class="none">The filters have no room for ${counted(leftOut, 'station')}: raise <code>aprsis.maxConnections</code>.</p>`
  if (connections.length === 0) return html`<div class="card none">No connection is open yet.</div>`
  return html`<div class="card scroll" role="region" aria-label="Connections to APRS-IS" tabindex="0"><table>
<thead><tr><th scope="col">Login</th><th scope="col">State</th><th scope="col">Server</th><th scope="col">Verified</th><th scope="col">Since (UTC)</th><th scope="col">Filter</th><th scope="col">Received</th><th scope="col">Sent</th></tr></thead>
<tbody>${connections.map((connection) => connectionRow(connection, now))}</tbody>
</table>${overflow}</div>`
}

/** Texts for the states of a connection. For a state without a text, the page shows its name. */
const STATES: Readonly<Record<string, string>> = {
  connecting: 'logging in',
  up: 'up',
  confirming: 'up, filter not confirmed yet',
  unconfirmed: 'up, server does not confirm filters',
  waiting: 'down, retrying soon',
  leaving: 'logging out',
  closed: 'closed',
}

function connectionRow(connection: UpstreamConnection, now: number): Html {
  const { callsign, state, server, verified, sinceMs, filter, stations, bytesIn, bytesOut } = connection
  const isLoggedIn = server !== null
  return html`<tr><th scope="row">${callsign}</th><td><span class="${isLoggedIn ? 'up' : 'down'}">${isLoggedIn ? '●' : '○'}</span> ${STATES[state] ?? state}</td><td>${server ?? '–'}</td><td>${
    verified ? 'yes' : isLoggedIn ? 'no: acks cannot be sent' : '–'
  }</td><td class="fit">${time(sinceMs)} <span class="soft">(${duration(now - sinceMs)})</span></td><td class="fit">${counted(stations, 'station')}, ${bytes(Buffer.byteLength(filter))}</td><td class="fit">${bytes(bytesIn)}</td><td class="fit">${bytes(bytesOut)}</td></tr>`
}

function events(list: readonly RecentEvent[]): Html {
  if (list.length === 0) return html`<div class="card none">None since the start.</div>`
  return html`<ol class="card events" aria-label="Warnings and errors, newest first">${list.map(eventItem)}</ol>`
}

/** Renders an event. The message comes first, so that it is readable on narrow screens. */
function eventItem({ at: lastAt, level, event, msg, detail, times }: RecentEvent): Html {
  return html`<li><p class="words">${msg}${detail === '' ? undefined : html` <span class="soft">${detail}</span>`}</p><p class="facts"><span class="level ${level}">${
    level === 'error' ? '✗ error' : '! warning'
  }</span> <b>${event}</b>${times > 1 ? html` <span class="soft">× ${count(times)}</span>` : undefined} <span class="soft">${time(lastAt)}</span></p></li>`
}
