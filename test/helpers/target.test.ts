import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { unusedUrl } from './target.ts'

it('unusedUrl() refuses connections and reserves its port', async () => {
  const url = await unusedUrl()
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  const server = createServer()
  const refused = new Promise((resolve) => server.once('error', resolve).once('listening', resolve))
  server.listen(Number(new URL(url).port), '127.0.0.1')
  expect(await refused).toMatchObject({ code: 'EADDRINUSE' })
})
