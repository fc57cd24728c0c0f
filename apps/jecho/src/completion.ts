import { Argument, type Command } from "commander";
import type { Screen } from "./screen.ts";

interface Flag {
  readonly flag: string;
  readonly says: string;
}

/** Scripts for shells, which call `jecho complete` for each word. It prints a line for each that may stand there, with what it says behind a tab. */
const SCRIPTS = {
  bash: `_jecho() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(jecho complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _jecho jecho`,
  zsh: `#compdef jecho
_jecho() {
  local -a found
  found=("\${(@f)$(jecho complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}")
  if [[ -n $found ]]; then _describe jecho found; else _files; fi
}
compdef _jecho jecho`,
  fish: `complete -c jecho -a '(jecho complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};

/** `jecho completion`, and what its scripts call. @param gatewayFlags of the commands that read their options themselves */
export function addCompletion(
  program: Command,
  { out }: Screen,
  gatewayFlags: () => Promise<readonly Flag[]>,
): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which prints what its words may be").choices(Object.keys(SCRIPTS)))
    .summary("prints what makes a shell complete this command")
    .description(
      "Prints a script for a shell. For bash: jecho completion bash >> ~/.bashrc. For zsh: jecho completion zsh >> ~/.zshrc. For fish: jecho completion fish > ~/.config/fish/completions/jecho.fish",
    )
    .action((shell: keyof typeof SCRIPTS) => void out.write(`${SCRIPTS[shell]}\n`));
  program
    .command("complete", { hidden: true })
    .argument("<words...>")
    .action(async (words: string[]) => {
      for (const { flag, says } of await candidates(program, words, gatewayFlags))
        out.write(`${flag}\t${says}\n`);
    });
}

/** Words that the last of these may be. */
async function candidates(
  program: Command,
  words: readonly string[],
  gatewayFlags: () => Promise<readonly Flag[]>,
): Promise<readonly Flag[]> {
  const [first, ...rest] = words;
  const last = words.at(-1) ?? "";
  const named = (command: Command): Flag => ({ flag: command.name(), says: command.summary() });
  if (rest.length === 0)
    return program
      .createHelp()
      .visibleCommands(program)
      .map(named)
      .filter(({ flag }) => flag.startsWith(last));
  const command = program.commands.find(one => one.name() === first);
  if (command === undefined) return [];
  const isOfGateway = first === "gateway" || first === "config";
  const found = isOfGateway ? await gatewayFlags() : wordsOf(command, rest);
  return found.filter(({ flag }) => flag.startsWith(last));
}

/** Words that may stand behind a command: a value of the option before, one of an argument, or an option. */
function wordsOf(command: Command, words: readonly string[]): readonly Flag[] {
  const [before = "", last = ""] = words.slice(-2);
  const options = command.createHelp().visibleOptions(command);
  const option = words.length > 1 ? options.find(({ long }) => long === before) : undefined;
  const choices = (option ?? command.registeredArguments[words.length - 1])?.argChoices ?? [];
  if (option?.required === true || (choices.length > 0 && !last.startsWith("-")))
    return choices.map(flag => ({ flag, says: "" }));
  return options.map(({ long, description }) => ({ flag: long ?? "", says: description }));
}
