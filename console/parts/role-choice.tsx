import { Radio, Stack } from "@mantine/core"
import { ROLES, ROLE_DESCRIPTIONS, roleDenialReason } from "../api/permissions.ts"
import { useMe } from "../api/session.ts"

interface RoleChoiceProps {
  readonly value: string
  readonly onChange: (role: string) => void
}

/** A choice of roles with descriptions; a disabled one says why the reader cannot give it. */
export function RoleChoice({ value, onChange }: RoleChoiceProps) {
  const me = useMe()
  return (
    <Radio.Group label="Role" value={value} onChange={onChange}>
      <Stack gap="xs" mt={6}>
        {ROLES.map((role) => {
          const denialReason = roleDenialReason(me, role)
          return (
            <Radio
              key={role}
              value={role}
              label={roleText(role)}
              description={denialReason ?? ROLE_DESCRIPTIONS[role]}
              disabled={denialReason !== null}
            />
          )
        })}
      </Stack>
    </Radio.Group>
  )
}

/** A role with a capital letter: `Owner`. */
export function roleText(role: string): string {
  return role.charAt(0).toUpperCase() + role.slice(1)
}
