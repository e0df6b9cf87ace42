// @ts-check
import createClient from 'openapi-fetch'

/** Given the sidecar's address, an avatar's image and its hash. */
const [, , baseUrl = '', avatarImage = '', avatarHash = ''] = process.argv
/** @type {import('openapi-fetch').Client<import('./generated.d.ts').paths>} */
const api = createClient({ baseUrl })
const station = { callsign: 'N0CALL', ssid: '7', auth: 13023 }
const phone = { ...station, platform: /** @type {const} */ ('android'), pushToken: 'token', ackMessages: false }
const options = { anySsid: true, wantAcks: true, blocked: ['SPAM*'] }

const registered = await api.POST('/v1/register', { body: { ...phone, ...options, wantHistory: true, since: 0 } })
const [message] = registered.data?.messages ?? []
const [ack] = registered.data?.acks ?? []
const synced = await api.POST('/v1/sync', { body: { ...station, since: registered.data?.serverTime ?? 0 } })
const picture = { avatarUpdate: true, avatarIcon: '', avatarImage, avatarHash }
const pictured = await api.POST('/v1/register', { body: { ...phone, ...picture } })
const avatars = await api.POST('/v1/avatars', { body: { ...station, stations: ['N0CALL-7'] } })
await api.POST('/v1/unregister', { body: { ...station, pushToken: phone.pushToken } })
const refusal = await api.POST('/v1/sync', { body: { ...station, since: synced.data?.serverTime ?? 0 } })
/** @type {import('./generated.d.ts').components['schemas']['ErrorCode'] | undefined} */
const refused = refusal.error?.error
console.log(
  JSON.stringify({
    text: message?.text,
    time: String(message?.time),
    acked: `${ack?.kind} ${ack?.seqId}`,
    newer: String(synced.data?.messages.length),
    held: pictured.data?.avatarHash,
    avatar: avatars.data?.avatars['N0CALL-7']?.hash,
    refused,
  }),
)
