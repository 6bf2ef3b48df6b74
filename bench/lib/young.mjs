import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

/**
 * Collects young garbage, and nothing else: a full collection takes compiled code along. What a subject has left would
 * else be collected while the next one is measured, and that of native objects costs as much as some subjects take.
 */
export const collectYoung = () => gc({ type: 'minor' })
