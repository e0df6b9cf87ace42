import { expect } from 'chai'
import {
  readCheckMinutes,
  readLoginTokenDays,
  readPluginSettings,
} from '../../../../plugin/meshcentral/start/plugin-settings.ts'

describe('setting sessionCheckMinutes', () => {
  it('sessionCheckMinutes is five minutes by default', () => {
    for (const nothing of [undefined, null]) expect(readCheckMinutes(nothing)).to.deep.equal({ minutes: 5 })
  })

  it('sessionCheckMinutes may be 0 (off), or a hundredth of a minute to a day', () => {
    for (const minutes of [0, 0.01, 1, 5, 1_440]) expect(readCheckMinutes(minutes)).to.deep.equal({ minutes })
  })

  for (const wrong of ['5', '', true, false, -1, 0.001, 1_441, Number.NaN, Number.POSITIVE_INFINITY, [5], {}]) {
    it(`reports sessionCheckMinutes ${JSON.stringify(wrong)} as invalid, and uses five`, () => {
      const { minutes, problem } = readCheckMinutes(wrong)
      expect(minutes).to.equal(5)
      expect(problem).to.match(/sessionCheckMinutes must be 0 \(off\) or a number of minutes from 0\.01 to 1440/)
    })
  }

  for (const [title, settings, minutes] of [
    ['sessionCheckMinutes is also read by its old name', { introspectminutes: 2 }, 2],
    ['sessionCheckMinutes prefers its name to the old one', { introspectminutes: 2, sessioncheckminutes: 3 }, 3],
    [
      'sessionCheckMinutes 0 turns checks off, whatever the old name says',
      { introspectminutes: 2, sessioncheckminutes: 0 },
      0,
    ],
  ] as const) {
    it(title, () => {
      const config = { settings: { plugins: { meshcompanion: settings } }, domains: {} }
      expect(readPluginSettings({ config })).to.deep.include({ sessionCheckMs: minutes * 60_000, problem: undefined })
    })
  }
})

describe('setting loginTokenDays', () => {
  it('loginTokenDays may be 0.01 to 3650 days; without a value there is no limit', () => {
    for (const nothing of [undefined, null]) expect(readLoginTokenDays(nothing)).to.deep.equal({ days: null })
    for (const days of [0.01, 1, 30, 3_650]) expect(readLoginTokenDays(days)).to.deep.equal({ days })
  })

  it('an invalid loginTokenDays is reported, and 0.01 days apply as the shortest limit', () => {
    for (const wrong of ['30', '', true, false, 0, -1, 0.001, 3_651, Number.NaN, [30], {}]) {
      const { days, problem } = readLoginTokenDays(wrong)
      expect(days).to.equal(0.01)
      expect(problem).to.match(/loginTokenDays must be null \(no limit\) or a number of days from 0\.01 to 3650/)
    }
  })

  it('reports invalid loginTokenDays together with other invalid members', () => {
    const config = {
      settings: { plugins: { meshcompanion: { sessioncheckminutes: '5', logintokendays: '3' } } },
      domains: {},
    }
    expect(readPluginSettings({ config }).problem).to.match(/sessionCheckMinutes.*loginTokenDays/)
  })
})
