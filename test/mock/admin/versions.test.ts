import type { ServiceVersion } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, pathOf, post, same, start } from '../support.ts'

const EDIT = `${pathOf(FEATURE)}/edit`
const SETTINGS = '/services/webhooks/settings'

describe('versions', () => {
  const error = '{"status":"error","messages":["there is nothing here"],"code":404}'

  it.each([
    ['notificationStatus', `${pathOf(FEATURE)}/notificationStatus`],
    [
      'notificationStatus, without the word webhooks',
      `${pathOf(FEATURE).replace('/webhooks', '')}/notificationStatus`,
    ],
    ['the list of the site', '/services/webhooks'],
    ['settings', SETTINGS],
  ])('at 11.1, %s gets the same 404 as an unknown path', async (_, path) => {
    const service = await start(undefined, { version: '11.1' })
    for (const method of ['GET', 'POST', 'PUT']) {
      const [there, nowhere] = await Promise.all(
        [path, `${path}s`].map(async (url) => {
          const answer = await fetch(service.url + url, { method })
          const { date, ...headers } = Object.fromEntries(answer.headers)
          return { status: answer.status, headers, text: await answer.text() }
        }),
      )
      expect(there).toMatchObject({ status: 404, text: error })
      expect(there).toEqual(nowhere)
      expect((await fetch((await start()).url + path, { method })).status).not.toBe(404)
    }
  })

  it.each<[ServiceVersion, number]>([
    ['11.1', 400],
    ['11.2', 400],
    ['11.3', 200],
  ])('at %s, create and edit with PostPerformed return %i', async (version, status) => {
    const service = await start(undefined, { version })
    const parameters = { ...same(FEATURE), changeTypes: 'FeaturesCreated,PostPerformed' }
    for (const [path, name] of [
      [EDIT, FEATURE.name],
      ['/services/Parcels.FeatureServer/webhooks/create', 'new'],
    ] as const) {
      const { body, ...answer } = await post(service, path, { ...parameters, name })
      expect(answer.status).toBe(status)
      if (status === 400) {
        expect(body.messages).toEqual([
          expect.stringMatching(/^changeTypes holds "PostPerformed"; a FeatureServer has \*, [^"]*Changed$/),
        ])
      }
    }
  })

  it('a webhook has the field signatureKey at 11.1 too', async () => {
    const service = await start(undefined, { version: '11.1' })
    const { body } = await post(service, EDIT, { ...same(FEATURE), signatureKey: 'parcels2027' })
    expect(body.signatureKey).toBe('parcels2027')
  })
})
