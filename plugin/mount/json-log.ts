import pino from 'pino'
import { type Log, type LogFields, printableFields, printableText } from '../log.ts'

/**
 * Creates a log that writes JSON lines to `destination`, by default to stdout. Each line has the member `component`.
 */
export function createLog(component: 'plugin' | 'auth' | 'host', destination?: pino.DestinationStream): Log {
  const logger = pino(
    {
      base: { component },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: printableFields },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  )
  const lineWriter =
    (write: pino.LogFn) =>
    (event: string, msg: string, fields: LogFields = {}) =>
      write.call(logger, { event, ...fields }, printableText(msg))
  return { info: lineWriter(logger.info), warn: lineWriter(logger.warn), error: lineWriter(logger.error) }
}
