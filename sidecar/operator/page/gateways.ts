import type { Platform } from '../../messages/store.ts'
import { counted, dateTime, duration } from './format.ts'
import { type Html, html } from './html.ts'

/** A refusal or failure of a gateway. `at` is in milliseconds since 1970. */
interface Setback {
  readonly at: number
  readonly reason: string
}

/** The status of a configured push gateway. Times are in milliseconds since 1970. */
export interface GatewayStatus {
  readonly platform: Platform
  readonly state: 'unused' | 'working' | 'failing' | 'refusing'
  /** Whether the last refusal was about the credentials, and the gateway has accepted nothing since. */
  readonly credentialsRefused: boolean
  /** Whether the gateway reported so many tokens in a row dead that the sidecar doubts its reports. */
  readonly tokensDoubted: boolean
  readonly lastAcceptedAt: number | undefined
  readonly lastRefused: Setback | undefined
  readonly lastFailed: Setback | undefined
  /** Number of devices with a notification that is being sent, or waits for its first or next try. */
  readonly waiting: number
}

const NAMES: Readonly<Record<Platform, string>> = {
  android: 'Android, by FCM',
  ios: 'iOS, by APNs',
  webpush: 'Other phones, by Web Push',
}

const STATES: Readonly<Record<GatewayStatus['state'], string>> = {
  unused: '○ nothing sent yet',
  working: '● accepts notifications',
  failing: '○ fails, retrying',
  refusing: '✗ refuses notifications',
}

const TONES: Readonly<Record<GatewayStatus['state'], string>> = {
  unused: 'soft',
  working: 'up',
  failing: 'down',
  refusing: 'down',
}

/** Renders a card for each gateway. */
export function renderGateways(gateways: readonly GatewayStatus[], now: number): Html {
  if (gateways.length === 0)
    return html`<div class="card none">No push gateway is configured, so no phone is notified.</div>`
  return html`<div class="grid gateways">${gateways.map((gateway) => card(gateway, now))}</div>`
}

function card(gateway: GatewayStatus, now: number): Html {
  const { platform, state, tokensDoubted, lastAcceptedAt, lastRefused, lastFailed, waiting } = gateway
  return html`<section class="card gateway" aria-label="${NAMES[platform]}"><h3>${NAMES[platform]}</h3>
<p class="${tokensDoubted ? 'down' : TONES[state]}"><b>${tokensDoubted ? '✗ rejects every token' : STATES[state]}</b></p>
<dl><dt>Last accepted</dt><dd>${lastAcceptedAt === undefined ? 'never since the start' : when(lastAcceptedAt, now)}</dd>
<dt>Last refused</dt><dd>${setbackText(lastRefused, now)}</dd>
${lastFailed && html`<dt>Last failed</dt><dd>${setbackText(lastFailed, now)}</dd>`}
<dt>Waiting</dt><dd>${counted(waiting, 'device')}</dd></dl></section>`
}

function setbackText(setback: Setback | undefined, now: number): Html {
  return setback
    ? html`${when(setback.at, now)}: <span class="reason">${setback.reason}</span>`
    : html`never since the start`
}

function when(time: number, now: number): Html {
  return html`<time datetime="${new Date(time).toISOString()}" title="${dateTime(time)} UTC">${duration(now - time)} ago</time>`
}
