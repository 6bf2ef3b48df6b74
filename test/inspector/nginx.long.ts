import { createInspector } from 'geohook/inspector'
import { expect, it } from 'vitest'
import { findNginx, startNginx } from '../helpers/nginx.ts'
import { serve } from '../helpers/served.ts'
import { describeWith } from '../helpers/services.ts'
import { createFakeSource, inspectable } from './helpers/fake-source.ts'

await describeWith({ name: 'nginx', url: findNginx() ?? '' }, (program) => {
  it('an inspector without a login refuses requests that nginx passes on with its default settings', async () => {
    const { url } = await serve(createInspector(inspectable(createFakeSource())))
    expect((await fetch(url)).status).toBe(200)
    const proxy = await startNginx(program, url)
    try {
      expect((await fetch(proxy.url)).status).toBe(403)
    } finally {
      await proxy.close()
    }
  })
})
