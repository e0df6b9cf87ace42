import type { Problem } from '../config/problem.ts'
import type { DomainReading } from '../config/read.ts'
import type { Host } from '../host/port.ts'

/**
 * Logs a domain's configuration errors and warnings for administrators. The specification requires it for deprecated
 * keys.
 */
export function reportReading(
  host: Pick<Host, 'authLog'>,
  { key, problems, warnings }: Pick<DomainReading, 'key' | 'problems' | 'warnings'>,
): void {
  const report = (level: 'warn' | 'error', event: string, { path, reason, remedy }: Problem, code: object = {}) =>
    host.authLog({ level, event, message: `${path} ${reason}. ${remedy}`, domain: key, fields: { path, ...code } })
  for (const problem of problems) report('error', 'configuration-error', problem)
  for (const { code, ...warning } of warnings) {
    report('warn', code === 'deprecated_key' ? 'deprecated-key' : 'configuration-warning', warning, { code })
  }
}
