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
 * The page for a person: what works, what does not, and how busy it is. `refresh` false leaves the page alone once it
 * is shown.
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
      ? html`<noscript><a href="/">Refresh</a> by hand: this browser runs no scripts. With them it </noscript>refreshes every ${REFRESH_S} s · <a href="/?refresh=off">Stop refreshing</a>`
      : html`<a href="/">Refresh every ${REFRESH_S} s</a>`
  }</p>
</header>
<main>
${state.banner}
${tiles(status)}
<h2>Since the start${status.shared && ` of ${status.shared.own}, this instance alone`}</h2>
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

/** What the page says first of all, and its title's first word. */
function stateOf({ obstacles, storeFault, gateways, upstream }: Status): {
  readonly word: string
  readonly banner: Html
} {
  const refusals = gateways.flatMap(({ state, lastRefused }) => (state === 'refusing' && lastRefused) || [])
  const flapping = upstream.connections.filter(({ recentDrops }) => recentDrops >= FLAPPING_DROPS)
  const drops = flapping.map(
    ({ callsign: call, recentDrops }) =>
      html`<li>APRS-IS ended the login of ${call} ${count(recentDrops)} times within 15 minutes. ${LIKELY_CAUSE_OF_FLAPPING}</li>`,
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
  const heard =
    upstream.listener === null
      ? 'Other instances listen to APRS-IS.'
      : 'Every station is in a filter that an APRS-IS server confirmed.'
  const banner = html`<div class="state"><p><span class="mark">✓ Ready.</span> ${heard}</p></div>`
  return { word: 'Ready', banner }
}

function isFault(code: string): code is StoreErrorCode {
  return Object.hasOwn(STORE_FAULTS, code)
}

/** Why the store takes nothing, and what to do. */
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
  // Most servers have none.
  const others = devices.webpush === 0 ? undefined : html` · ${count(devices.webpush)} Web Push${off('webpush')}`
  return html`<dl class="grid tiles">
<div class="card tile"><dt>Stations</dt><dd><span class="big">${count(stations)}</span> of ${count(maxStations)}</dd>
<dd>${room(status)}<span class="soft">Devices: ${count(devices.android)} Android${off('android')} · ${count(devices.ios)} iOS${off('ios')}${others}</span></dd></div>
<div class="card tile"><dt>Messages stored</dt><dd class="big">${count(counts.messages_stored)}</dd><dd class="soft">${
    status.lastPacketAt === undefined
      ? 'no packet yet'
      : `last packet ${duration(status.now - status.lastPacketAt)} ago`
  }${status.upstream.paused ? ' · reading waits for the database' : ''}</dd></div>
<div class="card tile"><dt>Notifications accepted</dt><dd class="big">${count(counts.pushes_accepted)}</dd><dd class="soft">${count(pushesUnderWay)} under way</dd></div>
<div class="card tile"><dt>Database</dt><dd class="big">${bytes(databaseBytes)}</dd><dd class="soft">${backupOf(status)} · ${bytes(memoryBytes)} of memory in use</dd></div>
${freeSpace(status)}
${certificate(status)}
</dl>`
}

function freeSpace({ diskFreeBytes }: Status): Html | undefined {
  if (Number.isNaN(diskFreeBytes)) return undefined
  const isScarce = diskFreeBytes < SCARCE_DISK_BYTES
  return html`<div class="card tile"><dt>Free space</dt><dd class="big${isScarce ? ' down' : ''}">${bytes(diskFreeBytes)}</dd><dd class="soft">${
    isScarce ? 'little: free some before messages are lost' : 'on the disk of the database'
  }</dd></div>`
}

function certificate({ certificateExpiresAt, now }: Status): Html | undefined {
  if (certificateExpiresAt === undefined) return undefined
  const leftMs = certificateExpiresAt - now
  const isUrgent = leftMs < URGENT_CERTIFICATE_MS
  const left = leftMs > 0 ? `${count(Math.floor(leftMs / DAY_MS))} days` : 'expired'
  return html`<div class="card tile"><dt>Certificate</dt><dd class="big${isUrgent ? ' down' : ''}">${left}</dd><dd class="soft">${
    isUrgent ? 'renew it · ' : undefined
  }until ${time(certificateExpiresAt)}</dd></div>`
}

function backupOf({ lastBackupAt, now }: Status): string {
  if (lastBackupAt === 'off') return 'no backups'
  return lastBackupAt === undefined ? 'no backup yet' : `backup ${duration(now - lastBackupAt)} ago`
}

const DAY_MS = 86_400_000
/** As the alerts SidecarDiskNearlyFull and SidecarCertificateExpires have it. */
const SCARCE_DISK_BYTES = 200e6
const URGENT_CERTIFICATE_MS = 14 * DAY_MS

const ROOM_WIDTH = 200

/** How full the registry is; the numbers beside it say the same. */
function room({ stations, maxStations }: Status): Html {
  const width = Math.min(ROOM_WIDTH, Math.round((stations / maxStations) * ROOM_WIDTH * 10) / 10)
  return html`<svg class="room" aria-hidden="true" viewBox="0 0 ${ROOM_WIDTH} 8" preserveAspectRatio="none"><rect class="track" width="${ROOM_WIDTH}" height="8"/><rect class="bar" width="${width}" height="8"/></svg>`
}

/** How it goes minute by minute is Prometheus's to show: the package has a dashboard for that. */
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
      // One that is dropped after it was read counts twice.
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
  const left =
    leftOut === 0
      ? undefined
      : html`<p class="none">No room for ${counted(leftOut, 'station')}: raise <code>aprsis.maxConnections</code>.</p>`
  if (connections.length === 0)
    return html`<div class="card none">No station is registered, so nothing is asked for.</div>`
  return html`<div class="card scroll" role="region" aria-label="Connections to APRS-IS" tabindex="0"><table>
<thead><tr><th scope="col">Login</th><th scope="col">State</th><th scope="col">Server</th><th scope="col">Verified</th><th scope="col">Since (UTC)</th><th scope="col">Filter</th><th scope="col">Received</th><th scope="col">Sent</th></tr></thead>
<tbody>${connections.map((connection) => connectionRow(connection, now))}</tbody>
</table>${left}</div>`
}

/** What the states of a connection mean; one that is not here is shown by its name. */
const STATES: Readonly<Record<string, string>> = {
  connecting: 'logging in',
  up: 'up',
  confirming: 'up, filter not confirmed yet',
  unconfirmed: 'up, server confirms no filter',
  waiting: 'down, tried again soon',
  leaving: 'leaving',
  closed: 'closed',
}

function connectionRow(connection: UpstreamConnection, now: number): Html {
  const { callsign: call, state, server, verified, sinceMs, filter, stations, bytesIn, bytesOut } = connection
  const loggedIn = server !== null
  return html`<tr><th scope="row">${call}</th><td><span class="${loggedIn ? 'up' : 'down'}">${loggedIn ? '●' : '○'}</span> ${STATES[state] ?? state}</td><td>${server ?? '–'}</td><td>${
    verified ? 'yes' : loggedIn ? 'no: acks cannot be sent' : '–'
  }</td><td class="fit">${time(sinceMs)} <span class="soft">(${duration(now - sinceMs)})</span></td><td class="fit">${counted(stations, 'station')}, ${bytes(Buffer.byteLength(filter))}</td><td class="fit">${bytes(bytesIn)}</td><td class="fit">${bytes(bytesOut)}</td></tr>`
}

function events(list: readonly RecentEvent[]): Html {
  if (list.length === 0) return html`<div class="card none">None since the start.</div>`
  return html`<ol class="card events" aria-label="Warnings and errors, newest first">${list.map(eventItem)}</ol>`
}

/** What happened comes first: it is what a narrow screen has to show. */
function eventItem({ at, level, event, msg, detail, times }: RecentEvent): Html {
  return html`<li><p class="words">${msg}${detail === '' ? undefined : html` <span class="soft">${detail}</span>`}</p><p class="facts"><span class="level ${level}">${
    level === 'error' ? '✗ error' : '! warning'
  }</span> <b>${event}</b>${times > 1 ? html` <span class="soft">× ${count(times)}</span>` : undefined} <span class="soft">${time(at)}</span></p></li>`
}
