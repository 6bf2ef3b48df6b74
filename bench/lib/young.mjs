import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

/**
 * Collects young garbage, and nothing else: a full collection takes compiled code along. What a subject has left would
 * else be collected while another one is measured.
 */
export const collectYoung = () => gc({ type: 'minor' })
