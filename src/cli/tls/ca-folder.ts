import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

/** The environment variable that replaces the folder. */
export const FOLDER_VARIABLE = 'GEOHOOK_CA_DIR'

/** Returns the folder of the local CA. Each user has one. */
export function caFolder(): string {
  const { platform, env } = process
  const own = env[FOLDER_VARIABLE]
  if (own) return resolve(own)
  return join(dataFolder(platform, env), 'geohook', 'local-ca')
}

/** The user's folder for data that programs keep, which is not synchronized to other machines. */
function dataFolder(platform: string, env: NodeJS.ProcessEnv): string {
  if (platform === 'win32') return env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local')
  // The XDG base directory specification says that a relative path must be ignored.
  const { XDG_DATA_HOME: data = '' } = env
  return isAbsolute(data) ? data : join(homedir(), '.local', 'share')
}

/** Paths of the files of the CA. Both are in one folder, so that they can be created and replaced together. */
export interface CaFiles {
  folder: string
  certificate: string
  key: string
}

export const filesIn = (folder: string): CaFiles => ({
  folder,
  certificate: join(folder, 'cert.pem'),
  key: join(folder, 'key.pem'),
})

/** Returns the paths of the current CA, which stay the same when it is renewed. */
export const currentFiles = (): CaFiles => filesIn(join(caFolder(), 'current'))
