/** Shell completion: a script that contains every word of the catalogue. */
import type { Command } from "commander"
import type { Catalogue } from "./command-spec.ts"
import { PROGRAM_NAME, buildCommandParser } from "./command-parser.ts"

export const COMPLETION_SHELLS = ["bash", "zsh"] as const

export type CompletionShell = (typeof COMPLETION_SHELLS)[number]

/** The program's file, for installations without a command or an alias. */
const FILE = "ledger.mjs"

/** zsh accepts bash completions after this setup. */
const SHELL_PREAMBLES: Record<CompletionShell, string> = {
  bash: "",
  zsh: "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n",
}

/** Width of the help text, which is not printed here. */
const COLUMNS = 80

/** The possible next words after a command or an option. */
interface CompletionStep {
  readonly after: string
  readonly words: readonly string[]
}

/**
 * Returns the completion script. It calls no program, because it contains the words of this release; it
 * completes commands and the choices of options, and file names where any text is valid.
 */
export function completionScript(catalogue: Catalogue, shell: CompletionShell): string {
  const nowhere = { out: "", err: "" }
  const program = buildCommandParser(catalogue, COLUMNS, nowhere, () => undefined)
  const next = [...nextWords(catalogue, program, ""), ...helpWords(program)]
  const cases = next.map(({ after, words }) => `    '${after}') words='${words.join(" ")}' ;;\n`)
  const commands = next.flatMap(({ after }) =>
    after === "" || after.includes(" --") ? [] : [`'${after}'`],
  )
  return `# Completes the words of ${PROGRAM_NAME}: source <(${PROGRAM_NAME} completion ${shell})
${SHELL_PREAMBLES[shell]}_company_ledger() {
  local i words command="" said="" current="\${COMP_WORDS[COMP_CWORD]}"
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    said="\${command:+$command }\${COMP_WORDS[i]}"
    case "$said" in
    ${commands.join(" | ")}) command="$said" ;;
    *) break ;;
    esac
  done
  COMPREPLY=()
  [ "$COMP_CWORD" -gt 1 ] && [ -z "$command" ] && return
  for said in "$command \${COMP_WORDS[COMP_CWORD - 1]}" "$command"; do
    words="?"
    case "$said" in
${cases.join("")}    esac
    [ "$words" = "?" ] || break
  done
  for said in $words; do
    case "$said" in "$current"*) COMPREPLY+=("$said") ;; esac
  done
}
complete -o default -F _company_ledger ${PROGRAM_NAME} ${FILE}
`
}

/** Returns the words after `help`: the first words of commands only. */
function helpWords(program: Command): readonly CompletionStep[] {
  const topics = program.commands.map((one) => one.name())
  const nothing = topics.map((topic) => ({ after: `help ${topic}`, words: [] }))
  return [{ after: "help", words: topics }, ...nothing]
}

function nextWords(
  catalogue: Catalogue,
  command: Command,
  path: string,
): readonly CompletionStep[] {
  const spec = catalogue.commands.find(({ name }) => name === path)
  const topics = command.commands.map((one) => one.name())
  const suggested = spec?.arguments.flatMap(({ suggests = [] }) => suggests) ?? []
  const flags = command.options.map(({ long, short }) => long ?? short ?? "")
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  const ofOptions = command.options.flatMap(({ long, required, argChoices }) => {
    const option = spec?.options.find(({ flags: spelled }) => spelled.split(" ")[0] === long)
    const words = argChoices ?? option?.suggests ?? []
    return required ? [{ after: `${path} ${long ?? ""}`, words }] : []
  })
  const help = path === "" ? ["help"] : []
  return [
    { after: path, words: [...topics, ...help, ...choices, ...suggested, ...flags, "--help"] },
    ...ofOptions,
    ...command.commands.flatMap((one) =>
      nextWords(catalogue, one, path === "" ? one.name() : `${path} ${one.name()}`),
    ),
  ]
}
