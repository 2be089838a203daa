import { TextInput } from "@mantine/core"
import { useFilters } from "./filters.ts"
import { SearchIcon } from "./icons.tsx"

interface SearchBoxProps {
  /** Name of the parameter in the address. */
  readonly name: string
  readonly label: string
}

/** Searches the list below; Enter puts the text into the address. */
export function SearchBox({ name, label }: SearchBoxProps) {
  const [filters, setFilters] = useFilters()
  const now = filters[name] ?? ""
  return (
    <form
      role="search"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        const typed = new FormData(event.currentTarget).get(name)
        setFilters({ [name]: typeof typed === "string" ? typed.trim() : "" })
      }}
    >
      <TextInput
        // Shows the text of the address, also after the back button.
        key={now}
        name={name}
        type="search"
        size="xs"
        w={{ base: 170, sm: 220 }}
        aria-label={label}
        placeholder={label}
        leftSection={<SearchIcon />}
        defaultValue={now}
      />
    </form>
  )
}
