import { expect } from 'chai'
import { LOGIN_ERRORS } from '../../plugin/errors.ts'
import { printableText } from '../../plugin/log.ts'

describe('remedies in the table of login errors', () => {
  it("every error's remedy contains only characters that a log line may contain", () => {
    for (const [code, { remedy }] of Object.entries(LOGIN_ERRORS)) expect(printableText(remedy), code).to.equal(remedy)
  })
})
