import { expect } from 'chai'
import express, { type Application } from 'express'
import { mountRoutes } from '../../../plugin/routes/route-table.ts'

describe('routes of the plugin', () => {
  it('a server without domains has no routes, because Express 4 would match every path', () => {
    const mounted: string[] = []
    const note = (name: string) => () => mounted.push(name)
    const app = { get: note('get'), post: note('post'), use: note('use') } as unknown as Application
    mountRoutes(app, [], {} as never, () => '', express.urlencoded)
    expect(mounted).to.deep.equal([])
  })
})
