import type { Platform } from '../../messages/store.ts'
import { counted, dateTime, duration } from './format.ts'
import { type Html, html } from './html.ts'

/** An answer that was none, and when it came, in milliseconds since 1970. */
interface Setback {
  readonly at: number
  readonly reason: string
}

/** What the operator's port shows of one push gateway that is configured. Times are in milliseconds since 1970. */
export interface GatewayStatus {
  readonly platform: Platform
  readonly state: 'unused' | 'working' | 'failing' | 'refusing'
  /** The last refusal was for our credentials, and nothing was taken since. */
  readonly credentialsRefused: boolean
  /** It called so many tokens in a row dead that it is not believed. */
  readonly tokensDoubted: boolean
  readonly lastAcceptedAt: number | undefined
  readonly lastRefused: Setback | undefined
  readonly lastFailed: Setback | undefined
  /** Stations that are being notified by it, or wait, be it for another try. */
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
  failing: '○ fails, tried again',
  refusing: '✗ refuses notifications',
}

const TONES: Readonly<Record<GatewayStatus['state'], string>> = {
  unused: 'soft',
  working: 'up',
  failing: 'down',
  refusing: 'down',
}

/** A card for each gateway. */
export function renderGateways(gateways: readonly GatewayStatus[], now: number): Html {
  if (gateways.length === 0) return html`<div class="card none">None is configured, so no phone is notified.</div>`
  return html`<div class="grid gateways">${gateways.map((gateway) => card(gateway, now))}</div>`
}

function card(gateway: GatewayStatus, now: number): Html {
  const { platform, state, tokensDoubted, lastAcceptedAt, lastRefused, lastFailed, waiting } = gateway
  return html`<section class="card gateway" aria-label="${NAMES[platform]}"><h3>${NAMES[platform]}</h3>
<p class="${tokensDoubted ? 'down' : TONES[state]}"><b>${tokensDoubted ? '✗ calls every token dead' : STATES[state]}</b></p>
<dl><dt>Last accepted</dt><dd>${lastAcceptedAt === undefined ? 'never since the start' : when(lastAcceptedAt, now)}</dd>
<dt>Last refused</dt><dd>${setback(lastRefused, now)}</dd>
${lastFailed && html`<dt>Last failed</dt><dd>${setback(lastFailed, now)}</dd>`}
<dt>Waiting</dt><dd>${counted(waiting, 'device')}</dd></dl></section>`
}

function setback(one: Setback | undefined, now: number): Html {
  return one ? html`${when(one.at, now)}: <span class="reason">${one.reason}</span>` : html`never since the start`
}

function when(at: number, now: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}" title="${dateTime(at)} UTC">${duration(now - at)} ago</time>`
}
