"""회의실 예약: 빈 시간을 찾고, 겹치는 예약을 막고, 알림을 보낸다."""

import datetime as dt
from dataclasses import dataclass


최대_시간 = 4  # 한 번에 예약할 수 있는 시간
여는_시각 = 9
닫는_시각 = 18


class 예약오류(Exception):
    """예약을 받을 수 없을 때 생긴다."""


@dataclass
class 예약:
    방: str
    이름: str
    시작: dt.datetime
    끝: dt.datetime
    메모: str = ""

    def 길이(self) -> float:
        # 초 단위를 시간 단위로 바꾼다.
        return (self.끝 - self.시작).total_seconds() / 3600

    def 겹침(self, other: "예약") -> bool:
        if self.방 != other.방:
            return False
        return self.시작 < other.끝 and other.시작 < self.끝


class 예약장부:
    def __init__(self) -> None:
        self.목록: list[예약] = []
        self.보낸_알림 = 0

    def 추가(self, 새예약: 예약) -> None:
        if 새예약.길이() <= 0:
            raise 예약오류("끝나는 시각이 시작하는 시각보다 빠릅니다")
        if 새예약.길이() > 최대_시간:
            raise 예약오류(f"한 번에 {최대_시간}시간까지만 예약할 수 있습니다")
        if 새예약.시작.hour < 여는_시각 or 새예약.끝.hour > 닫는_시각:
            raise 예약오류("회의실은 오전 아홉 시부터 오후 여섯 시까지 엽니다")
        for 기존 in self.목록:
            # 같은 방에서 시간이 겹치면 먼저 온 사람이 쓴다.
            if 기존.겹침(새예약):
                raise 예약오류(f"{기존.이름} 님이 이미 예약한 시간입니다")
        self.목록.append(새예약)
        self.목록.sort(key=lambda r: (r.시작, r.방))

    def 취소(self, 방: str, 시작: dt.datetime) -> bool:
        for i, 기존 in enumerate(self.목록):
            if 기존.방 == 방 and 기존.시작 == 시작:
                del self.목록[i]
                return True
        return False

    def 오늘의_예약(self, 오늘: dt.date) -> list[예약]:
        return [r for r in self.목록 if r.시작.date() == 오늘]

    def 빈_시간(self, 방: str, 날짜: dt.date) -> list[int]:
        # 정각마다 비어 있는지 살펴본다.
        빈칸 = []
        for 시 in range(여는_시각, 닫는_시각):
            시작 = dt.datetime.combine(날짜, dt.time(시))
            끝 = 시작 + dt.timedelta(hours=1)
            후보 = 예약(방, "확인용", 시작, 끝)
            if not any(r.겹침(후보) for r in self.목록):
                빈칸.append(시)
        return 빈칸

    def 알림(self, 지금: dt.datetime, 보내기) -> int:
        """십오 분 안에 시작하는 예약의 주인에게 알림을 보낸다."""
        수 = 0
        for r in self.목록:
            남은 = r.시작 - 지금
            if dt.timedelta(0) <= 남은 <= dt.timedelta(minutes=15):
                보내기(r.이름, f"{r.방} 회의가 곧 시작합니다: {r.메모}")
                수 += 1
        self.보낸_알림 += 수
        return 수
