import { rmSync, writeFileSync } from 'node:fs'
import { KEY } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import { startProgram } from '../../helpers/process.ts'

/** A receiver written in Python. */
export interface PythonReceiver {
  url: string
  observer(id: string): number
  failHandler(id: string, fails: boolean): void
  stop(): Promise<void>
}

export async function startPython(
  file: 'receiver.py' | 'flaws.py',
  ...args: string[]
): Promise<PythonReceiver> {
  const folder = createFolder()
  const failing = folder.fileIn('failing')
  const env = { SIGNATURE_KEY: KEY, FAILING: failing }
  const app = startProgram('python3', ['-B', `test/check/python/${file}`, ...args], env)
  const [, url = ''] = await app.printed(/listening on (\S+)/)
  return {
    url,
    observer: (id) => app.stdout.split('\n').filter((line) => line === `handled geohook check ${id}`).length,
    failHandler(id, fails) {
      if (fails) writeFileSync(failing, id)
      else rmSync(failing)
    },
    async stop() {
      await app.stop()
      await folder.remove()
    },
  }
}
