import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcess } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'
import { hasProgram } from '../../helpers/programs.ts'

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'geohook-tls-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('the recipes of docs/cli.md', () => {
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('<a id="listen-https"></a>')
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = '']) => code)
  const recipeOf = (start: string): string => blocks.find((code) => code.startsWith(start)) ?? ''
  const [listen = '', sending = ''] = ['geohook listen', 'geohook send'].map(recipeOf)

  /** Starts the listener of the page, and sends to it as the page does. */
  async function expectHttps(folder: string, ca: string): Promise<void> {
    writeFileSync(join(folder, 'key.txt'), KEY)
    const args = [...listen.trim().split(' ').slice(1), '--port', '0']
    const listener = startProcess(args, { cwd: folder })
    onTestFinished(async () => void (await listener.stop()))
    const [, port = ''] = await listener.printed(/https:\/\/127\.0\.0\.1:(\d+)/)
    const [send = '', curl = ''] = sending
      .replaceAll('localhost:3000', `localhost:${port}`)
      .replaceAll('tls-cert.pem', ca)
      .split('\n')
    expect(await startProcess(send.split(' ').slice(1), { cwd: folder }).exited).toBe(0)
    execFileSync('sh', ['-ec', curl], { cwd: folder, stdio: 'pipe' })
  }

  it.skipIf(!hasProgram('openssl'))('work with OpenSSL', async () => {
    const folder = createFolder()
    execFileSync('sh', ['-ec', recipeOf('openssl req')], { cwd: folder, stdio: 'pipe' })
    await expectHttps(folder, 'tls-cert.pem')
  })

  it.skipIf(!hasProgram('mkcert'))('work with mkcert', async () => {
    const folder = createFolder()
    // Installs the CA nowhere.
    const variables = { ...process.env, CAROOT: join(folder, 'root'), TRUST_STORES: 'none' }
    execFileSync('sh', ['-ec', recipeOf('mkcert')], { cwd: folder, env: variables, stdio: 'pipe' })
    await expectHttps(folder, join('root', 'rootCA.pem'))
  })

  it('use options that mkcert has, and the files of the listener', () => {
    const lines = recipeOf('mkcert').trim().split('\n')
    const options = lines.flatMap((line) => line.match(/(?<= )-[\w-]+/g))
    expect(options).toEqual(['-install', '-cert-file', '-key-file'])
    expect(section).toContain('`rootCA.pem` in the folder that `mkcert -CAROOT` prints')
    const files = /-cert-file (\S+) -key-file (\S+)/.exec(recipeOf('mkcert'))?.slice(1)
    expect(/--tls-cert (\S+) --tls-key (\S+)/.exec(listen)?.slice(1)).toEqual(files)
    expect(/-keyout (\S+) -out (\S+)/.exec(recipeOf('openssl req'))?.slice(1)).toEqual(files?.toReversed())
  })
})
