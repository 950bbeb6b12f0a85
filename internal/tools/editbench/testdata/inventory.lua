-- A backpack with slots, as games have it.
local Backpack = {}
Backpack.__index = Backpack

local MAX_STACK = 64
local weights = {
    stone = 2.5,
    wood = 1.2,
    apple = 0.2,
}

function Backpack.new(slots, limit)
    local self = setmetatable({}, Backpack)
    self.slots = {}
    self.count = slots or 20
    self.limit = limit or 100
    return self
end

function Backpack:weight()
    local sum = 0
    for _, stack in pairs(self.slots) do
        sum = sum + stack.amount * (weights[stack.item] or 1)
    end
    return sum
end

-- Puts items in, and gives back how many found no place.
function Backpack:add(item, amount)
    for i = 1, self.count do
        local stack = self.slots[i]
        if stack and stack.item == item and stack.amount < MAX_STACK then
            local space = math.min(MAX_STACK - stack.amount, amount)
            stack.amount = stack.amount + space
            amount = amount - space
        end
        if amount == 0 then
            return 0
        end
    end
    for i = 1, self.count do
        if not self.slots[i] and amount > 0 then
            local part = math.min(MAX_STACK, amount)
            self.slots[i] = { item = item, amount = part }
            amount = amount - part
        end
    end
    return amount
end

function Backpack:remove(item, amount)
    local removed = 0
    for i, stack in pairs(self.slots) do
        if stack.item == item and removed < amount then
            local part = math.min(stack.amount, amount - removed)
            stack.amount = stack.amount - part
            removed = removed + part
            if stack.amount == 0 then
                self.slots[i] = nil
            end
        end
    end
    return removed
end

function Backpack:is_heavy()
    return self:weight() > self.limit * 0.8
end

return Backpack
