export type { Problem, Warning } from './config/problem.ts'
export { type DomainReading, type ReadOptions, readDomains } from './config/read.ts'
export type { PresetUrls } from './config/settings.ts'
export { MESSAGES, type MessageCode } from './errors.ts'
export { expressSessions } from './host/express-session.ts'
export type {
  Account,
  Accounts,
  AuthLogEntry,
  Host,
  LoginFailure,
  LoginPage,
  Profile,
  Sessions,
  SignIn,
  UserGroups,
  UserId,
} from './host/port.ts'
export { createLog, type Log } from './log.ts'
export { type LoginOption, type Oidc, type RegisterOptions, registerOidc } from './register.ts'
