import type { Verdict } from './verdict.ts'

/** The figures of a verdict, a line each. */
export function rowOf(verdict: Verdict): string {
  const { takeoversMs } = verdict
  const s = (ms: number) => (ms / 1000).toFixed(1)
  const takeovers =
    takeoversMs.length === 0
      ? 'none'
      : `${takeoversMs.length}, ${s(Math.min(...takeoversMs))} to ${s(Math.max(...takeoversMs))} s`
  return [
    `  faults      ${verdict.kills} kills, ${verdict.freezes} freezes, ${verdict.upgrades} upgrades, ${verdict.databaseKills} of the database`,
    `  messages    ${verdict.sent} sent, ${verdict.lost} lost, ${verdict.doubled} doubled`,
    `  calls       ${verdict.calls}, ${verdict.failures} answered with 500; ${verdict.astray} phones with something skipped or twice`,
    `  pushes      ${verdict.pushes}, ${verdict.untold} messages untold, ${verdict.pushedAgain} again after a kill, ${verdict.pushedTwice} twice`,
    `  acks        ${verdict.acks}, ${verdict.unacknowledged} missing, ${verdict.ackedAgain} again after the database forgot, ${verdict.ackedTwice} twice`,
    `  takeovers   ${takeovers}`,
  ].join('\n')
}
