// Writes an ES module and a CommonJS module that import every entry. The compiler then checks every declaration file.
import { writeFileSync } from 'node:fs'
import { entries } from './entries.mjs'

const imports = entries.map((entry, i) => `import * as entry${i} from '${entry}'`)
const names = entries.map((_, i) => `entry${i}`)
const code = `${imports.join('\n')}\n\nexport const all: readonly object[] = [${names.join(', ')}]\n`
writeFileSync('all.mts', code)
writeFileSync('all.cts', code)
