import { expect, it } from 'vitest'
import { unusedUrl } from './target.ts'

it('unusedUrl() refuses connections', async () => {
  const url = await unusedUrl()
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
})
