import { readFileSync } from 'node:fs'

/** Reads the code blocks of a README, so that they can be found by their content. */
export function readBlocks(path) {
  const text = readFileSync(path, 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(({ 1: language, 2: code, index }) => ({
    language,
    code,
    // The name in the paragraph before the block: "Save this as `receiver.js`:"
    file: /Save \w+ as `([^`]+)`[^`]*$/.exec(text.slice(Math.max(0, index - 200), index))?.[1],
  }))

  const used = new Set()

  /** Returns the first block of a language that contains all given texts. */
  function find(language, ...texts) {
    const found = blocks.find(
      (block) => block.language === language && texts.every((one) => block.code.includes(one)),
    )
    if (!found) throw new Error(`The README has no ${language} block with ${texts.join(' and ')}.`)
    used.add(found)
    return found
  }

  /** Returns the shell commands that `find` has not returned. */
  const unused = () =>
    blocks.filter((block) => block.language === 'sh' && !used.has(block)).map(({ code }) => code)

  /** Returns the commands in the text that start with a prefix. */
  const inline = (prefix) => [
    ...new Set(
      [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code).filter((code) => code.startsWith(prefix)),
    ),
  ]

  return { find, inline, unused }
}
