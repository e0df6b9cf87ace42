import pino from 'pino'
import { type Log, type LogFields, printableFields, printableText } from '../log.ts'

/** A log that writes lines of `component` to `destination`, by default stdout. */
export function createLog(component: 'plugin' | 'auth' | 'host', destination?: pino.DestinationStream): Log {
  const logger = pino(
    {
      base: { component },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: printableFields },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  )
  const at =
    (write: pino.LogFn) =>
    (event: string, msg: string, fields: LogFields = {}) =>
      write.call(logger, { event, ...fields }, printableText(msg))
  return { info: at(logger.info), warn: at(logger.warn), error: at(logger.error) }
}
