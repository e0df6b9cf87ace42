export { type AnswerDetails, type AppStore, type AvatarStore, avatarsInMemory, type ClientState } from './app-store.ts'
export { avatarHash, type OwnAvatar } from './avatar-hash.ts'
export { type Calls, type CallsOptions, createCalls, type Fetch } from './calls.ts'
export { ClientError, type ClientErrorCode } from './client-error.ts'
export { messageIdentity } from './message-identity.ts'
export { type ClientOptions, createClient, type PhoneClient } from './phone-client.ts'
export { readPush } from './push-data.ts'
export type { Timers } from './timers.ts'
export type {
  AckRecord,
  AvatarRecord,
  AvatarsAnswer,
  AvatarsBody,
  DeviceClaim,
  ErrorAnswer,
  MessageRecord,
  Platform,
  RegisterAnswer,
  RegisterBody,
  Stamped,
  StationClaim,
  SyncAnswer,
  SyncBody,
  WebPushAnswer,
} from './wire/bodies.ts'
export type { PushPayload, WebPushMessage } from './wire/push-payload.ts'
