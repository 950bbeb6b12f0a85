package scan

// A set is a set of instructions, which is emptied at no cost.
type set struct {
	dense  []uint32
	sparse []uint32 // where in dense each is
}

func (s *set) clear() { s.dense = s.dense[:0] }

// add tells whether it was not in the set before.
func (s *set) add(pc uint32) bool {
	if at := s.sparse[pc]; int(at) < len(s.dense) && s.dense[at] == pc {
		return false
	}
	s.sparse[pc] = uint32(len(s.dense))
	s.dense = append(s.dense, pc)
	return true
}
