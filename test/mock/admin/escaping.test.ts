import type { MockService, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { raw } from '../../helpers/http.ts'
import { FEATURE, pathOf, post, same, seed, start } from '../support.ts'
import { BROWSER, decode, get, postForm } from './support.ts'

const LIST = '/services/Parcels.FeatureServer/webhooks'
/** Text that a page must always escape. */
const EVIL = `<script>alert(1)</script>"><img src=x onerror='alert(2)'>&amp;</textarea></title>`

const page = (service: MockService, path: string) => get(service.url + path, { accept: BROWSER })

describe('escapes', () => {
  const evil = seed(FEATURE, {
    folderName: EVIL.replaceAll('/', ''),
    serviceName: EVIL.replaceAll('/', ''),
    name: EVIL,
    hookUrl: `http://127.0.0.1/${EVIL.replaceAll(' ', '')}`,
    changeTypes: [EVIL],
    signatureKey: EVIL,
    ownerId: EVIL,
    modifiedId: EVIL,
    scheduleInfo: { ...FEATURE.scheduleInfo, name: EVIL } as Webhook['scheduleInfo'],
  })
  const safePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
  /** Matches the tags and attributes that our template writes. */
  const TAG =
    /^<(!doctype html|\/?(html|head|meta|title|body|p|a|pre)( (lang|charset|name|content|href)="[^"<>']*")*)>$/
  const clean = (text: string): void => {
    const tags = text.slice(text.indexOf('<!doctype html>')).match(/<[^>]*>?/g) ?? []
    expect(tags.length).toBeGreaterThan(10)
    expect(tags.filter((tag) => !TAG.test(tag))).toEqual([])
  }

  it('the fields of a webhook', async () => {
    const service = await start([evil])
    const path = safePath(pathOf(evil))
    for (const suffix of [
      path,
      path.replace(/\/[^/]*$/, ''),
      `${path}/notificationStatus`,
      '/services/webhooks',
    ]) {
      const { status, text } = await page(service, suffix)
      expect(status).toBe(200)
      clean(text)
    }
    // The page contains the text in escaped form.
    expect(decode((await page(service, path)).text)).toContain(`"name": ${JSON.stringify(EVIL)}`)
  })

  it('the parameters of an edit, in its response and in errors', async () => {
    const service = await start()
    const edit = async (parameters: Record<string, string>) =>
      (
        await postForm(`${service.url}${pathOf(FEATURE)}/edit`, {
          ...same(FEATURE),
          f: 'html',
          ...parameters,
        })
      ).text
    clean(
      await edit({
        name: EVIL,
        hookUrl: `http://127.0.0.1/?${EVIL.replaceAll(' ', '')}`,
        signatureKey: EVIL,
      }),
    )
    clean(await edit({ scheduleInfo: JSON.stringify({ name: EVIL }) }))
    for (const wrong of [
      { changeTypes: EVIL },
      { scheduleInfo: JSON.stringify({ [EVIL]: 1 }) },
      { active: EVIL },
    ])
      clean(await edit(wrong))
    const changeTypes = await edit({ changeTypes: EVIL })
    expect(decode(changeTypes)).toContain('changeTypes holds \\"<script>')
  })

  it('the path and an unknown encoding', async () => {
    const service = await start()
    clean((await page(service, `/${encodeURIComponent(EVIL)}`)).text)
    const host = 'host: 127.0.0.1\r\nconnection: close\r\naccept: text/html\r\n'
    const written = await raw(
      service.url,
      `GET /services/${EVIL.replaceAll(' ', '')} HTTP/1.1\r\n${host}\r\n`,
    )
    if (written.includes('404')) clean(written)
    else expect(written).toMatch(/^HTTP\/1\.1 400 /)
    const { text } = await postForm(`${service.url}${pathOf(FEATURE)}/edit?f=html`, same(FEATURE), {
      'content-encoding': EVIL,
    })
    clean(text)
  })

  it('refuses an unknown format in JSON', async () => {
    const service = await start()
    const { headers, status, text } = await page(service, `${LIST}?f=${encodeURIComponent(EVIL)}`)
    expect([status, headers['content-type']]).toEqual([400, 'application/json; charset=utf-8'])
    expect(text).not.toContain('script')
  })

  it('lone surrogates and control characters', async () => {
    const service = await start()
    const scheduleInfo = '{"name":"\\ud800\\u0000\\u001b[31m"}'
    const { text, status } = await postForm(`${service.url}${pathOf(FEATURE)}/edit`, {
      ...same(FEATURE),
      scheduleInfo,
      f: 'html',
    })
    expect(status).toBe(200)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
    expect(text).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f]/)
    const { body } = await post(service, pathOf(FEATURE), {})
    expect(body.scheduleInfo).toMatchObject({ name: '\ud800\0\u001b[31m' })
  })
})
